#pragma once
// The rules a plan must keep. Every message says where the plan came from (`source`: "plan", or its file),
// which table and rank break which rule, what was found, and what is valid.

#include <cstdint>
#include <span>
#include <string>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Throws Error unless the plan agrees with itself: names unique, ranks in [0, world), every table covered
/// exactly once (data_parallel: once a rank) by shards of the form its sharding says. O(shards log shards).
void Validate(const ShardingPlan& plan, const std::string& source = "plan");

/// The plan with its tables in the model's order: tables[i] of the result is for model[i]. Throws Error
/// unless the plan is valid, for a world of `world` ranks, and has exactly the model's tables, equal in rows
/// and dim.
ShardingPlan PlanForModel(ShardingPlan plan, std::span<const TableShape> model, std::int64_t world,
                          const std::string& source = "plan");

/// Whether the plan changes no bit of training: every table is table_wise, column_wise or data_parallel. All
/// such plans, for any world, give the same bits with the same reduction units. One rank is among these
/// worlds if it can have that number of units too (ValidateReductionUnits in plan/units_of_ranks.h). row_wise
/// and grid reassociate pooled sums.
bool PromisesBits(const ShardingPlan& plan);

}  // namespace hotrow
