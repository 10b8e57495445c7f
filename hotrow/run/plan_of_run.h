#pragma once
// What the plan commands ask: the tables that a plan file is about.

#include <vector>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"
#include "hotrow/run/run_settings.h"

namespace hotrow {

/// The plan's own tables, with the state of the run's optimizer and its ids a sample; table t serves feature
/// t.
std::vector<TableShape> ShapesOfPlan(const RunConfig& config, const ShardingPlan& plan);

/// Whether the settings say whose tables a plan is to be for, beside the plan's own.
bool NamesTables(const RunSettings& settings);

}  // namespace hotrow
