#pragma once
// Plans as a table to read.

#include <cstdint>
#include <span>
#include <string>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Two tables: what each rank holds (tables, shards, rows x columns, bytes of weights and optimizer state,
/// ids it looks up a step of `global_batch` samples, as LoadPerRank counts them), and how each table is cut.
/// Tables that `model` does not have are counted apart. Neighbouring ranks that hold the same share a line.
/// Never fails, not even for a plan that is not valid: what is wrong with it is then the last line.
std::string PlanToText(const ShardingPlan& plan, std::span<const TableShape> model,
                       std::int64_t global_batch);

}  // namespace hotrow
