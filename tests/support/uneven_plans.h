#pragma once
// Plans for tests: every sharding, cut where a mistake would show. Columns in unequal widths, several shards
// of a table on one rank, rows in blocks of which some ranks have none.

#include <cstdint>
#include <span>
#include <string>

#include "hotrow/embed/table_config.h"
#include "hotrow/plan/sharding_plan.h"

namespace hotrow {

/// kMixed and kMixedWithRows: each table another way, without and with tables split by rows.
enum class PlanOf { kTableWise, kColumnWise, kRowWise, kGrid, kDataParallel, kMixed, kMixedWithRows };
std::string ToString(PlanOf plan);
/// Whether the plan promises the bits of one rank.
bool PromisesBits(PlanOf plan);

ShardingPlan UnevenPlan(PlanOf plan, std::span<const EmbeddingTableConfig> tables, std::int64_t world);

}  // namespace hotrow
