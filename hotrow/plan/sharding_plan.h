#pragma once
// Which rank holds which part of which embedding table, as plain data.
//
// A plan says for each table how it is cut. One plan may mix all of these:
//   table_wise     One shard, the whole table, on one rank.
//   column_wise    Each shard holds all rows of columns [first_column, first_column + columns). There may
//                  be any number of shards, of unequal widths, in any order, several on one rank. A shard
//                  starts at a multiple of 4 columns. So all widths are multiples of 4, except the width of
//                  the table's last shard.
//   row_wise       Rank r holds all columns of rows [r * block, (r + 1) * block), block = ceil(rows / world)
//                  (FBGEMM's block_bucketize rule). If there are few rows, the last ranks have no shard.
//   grid           The world is cut into groups of `group_size` neighbouring ranks: group g is
//                  [g * group_size, (g + 1) * group_size). A table belongs to one group, or each of several
//                  column slices of it (cut as in column_wise) does. Its rows are spread over the group's
//                  ranks as row_wise spreads them over the world, block = ceil(rows / group_size).
//   data_parallel  Every rank holds a replica of the whole table.
// A shard is never empty: a rank that holds nothing of a table has no shard of it.

#include <cstdint>
#include <string>
#include <vector>

namespace hotrow {

enum class ShardingType { kTableWise, kColumnWise, kRowWise, kGrid, kDataParallel };

/// "table_wise", "column_wise", "row_wise", "grid", "data_parallel".
std::string ToString(ShardingType type);

/// Ranks a plan may have: the largest world a plan file is taken for.
inline constexpr std::int64_t kMaxPlanWorld = 65'536;

/// Column shards start at multiples of this: canonical sums group columns by four.
inline constexpr std::int64_t kShardColumnUnit = 4;

/// Rows [first_row, first_row + rows) x columns [first_column, first_column + columns) on one rank.
struct PlanShard {
  std::int64_t rank = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;

  friend bool operator==(const PlanShard&, const PlanShard&) = default;
};

struct TablePlan {
  std::string table;
  std::int64_t rows = 0;  ///< of the whole table
  std::int64_t dim = 0;   ///< columns of the whole table
  ShardingType sharding = ShardingType::kTableWise;
  std::int64_t group_size = 0;  ///< grid: ranks a group; else 0
  std::vector<PlanShard> shards;

  friend bool operator==(const TablePlan&, const TablePlan&) = default;
};

struct ShardingPlan {
  std::int64_t world = 1;  ///< ranks
  std::vector<TablePlan> tables;

  friend bool operator==(const ShardingPlan&, const ShardingPlan&) = default;
};

}  // namespace hotrow
