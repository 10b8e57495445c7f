#pragma once
// Plans as a table to read.

#include <cstdint>
#include <span>
#include <string>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Two tables: what each rank holds (tables, shards, rows x columns, bytes of weights and optimizer state,
/// ids it looks up a step of `global_batch` samples: each id once a rank, row-wise ones in proportion to its
/// rows), and how each table is cut. State and ids of a table come from the entry of `model` with its name;
/// tables without one are counted apart. Neighbouring ranks and tables that look the same share a line. Never
/// fails, not even for a plan that is not valid: what is wrong with it is then the last line. Sums are
/// floating point.
std::string PlanToText(const ShardingPlan& plan, std::span<const TableShape> model,
                       std::int64_t global_batch);

}  // namespace hotrow
