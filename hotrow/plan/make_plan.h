#pragma once
// Makes a plan by a rule, the same for every table, or by a simple balance. Deterministic: the same tables
// and world give the same plan on every machine.

#include <cstdint>
#include <span>
#include <string>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

enum class PlanKind { kTableWise, kColumnWise, kRowWise, kGrid, kDataParallel, kAuto };

/// "table_wise", "column_wise", "row_wise", "grid", "data_parallel", "auto"; throws Error listing them.
PlanKind ParsePlanKind(const std::string& text);

struct PlanOptions {
  /// grid: ranks a group, a divisor of the world, say the ranks of one host. 0: the smallest divisor whose
  /// square is at least the world (8 of 32, 4 of 16).
  std::int64_t group_size = 0;
};

/// A valid plan for `tables` over `world` ranks.
///   table_wise     largest ids x width first, each to the rank with the least so far.
///   column_wise    every table in `world` equal shards, shard i on rank i. Keeps the rule of the torch_tpu
///                  benchmark: the dim is divisible by the ranks and a shard's width by 4. A refusal names
///                  the rank counts and dims that fit. One rank splits nothing and takes any dim; a plan
///                  file may hold shards this rule refuses.
///   row_wise       every table in blocks of rows over all ranks.
///   grid           as table_wise, over groups of ranks; row_wise inside a group.
///   data_parallel  a replica of every table on every rank.
///   auto           a table with more than 1 / world of all ids x width, or of all bytes, is cut into
///                  columns, in as many shards as the larger of the two shares needs; then the largest shard
///                  first, each to the rank whose larger share stays the least. It keeps to shardings that
///                  promise bits, so a huge table of few columns stays large.
/// Throws Error for a world outside [1, kMaxPlanWorld], and where the rule cannot be kept.
ShardingPlan MakePlan(PlanKind kind, std::span<const TableShape> tables, std::int64_t world,
                      const PlanOptions& options = {});

}  // namespace hotrow
