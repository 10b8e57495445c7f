#pragma once
// Plans as JSON files.
//
//   {"format": "hotrow_sharding_plan", "version": 1, "world": 8,
//    "tables": [
//      {"name": "t_f0", "rows": 1000, "dim": 128, "sharding": "column_wise", "shards": [
//        {"rank": 0, "first_row": 0, "rows": 1000, "first_column": 0, "columns": 16},
//        …]},
//      {…, "sharding": "grid", "group_size": 4, "shards": […]}]}
//
// Reading is strict: an unknown, missing or repeated key, another type, a number that is not an integer of 64
// bits, another format or a newer version is an Error naming file and place ("plan.json:
// /tables/3/shards/0/rank: …"). Whether the plan makes sense is Validate's to say, so that a wrong plan can
// still be read and shown.

#include <string>

#include "hotrow/plan/sharding_plan.h"

namespace hotrow {

inline constexpr int kPlanFileVersion = 1;

/// The plan as text of such a file, one shard a line; the same text for the same plan. Throws Error for a
/// table name that is not UTF-8.
std::string PlanToJson(const ShardingPlan& plan);

/// Reads such text; `source` names it in errors. ParsePlan(PlanToJson(p)) == p.
ShardingPlan ParsePlan(const std::string& text, const std::string& source);

/// Writes the file beside `path` and renames it: never half a plan. Throws Error when it cannot.
void SavePlan(const ShardingPlan& plan, const std::string& path);

/// Reads the file; throws Error when it cannot.
ShardingPlan LoadPlan(const std::string& path);

}  // namespace hotrow
