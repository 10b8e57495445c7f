#pragma once
// What moving and holding data by a plan needs to ask of it. Every plan here has passed Validate.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Rows a rank holds when `rows` are spread over `ranks` in blocks: ceil(rows / ranks), FBGEMM's rule.
constexpr std::int64_t RowBlockSize(std::int64_t rows, std::int64_t ranks) { return CeilDiv(rows, ranks); }

/// Rows of block `index`, 0 <= index < ranks. Empty for the last ranks when rows are few.
constexpr Slice RowBlock(std::int64_t rows, std::int64_t ranks, std::int64_t index) {
  const std::int64_t block = RowBlockSize(rows, ranks);
  const auto cut = [&](std::int64_t i) { return i > rows / block ? rows : i * block; };
  return {cut(index), cut(index + 1)};
}

/// A shard of a rank's, and its table's place in the plan.
struct RankShard {
  std::int64_t table = 0;
  PlanShard shard;

  friend bool operator==(const RankShard&, const RankShard&) = default;
};

/// All that `rank` holds, by (table, first_column, first_row), replicas included. O(shards of the plan).
std::vector<RankShard> ShardsOfRank(const ShardingPlan& plan, std::int64_t rank);

/// Features whose ids other ranks send to `rank`: those of the tables it holds shards of, each once however
/// many shards, ascending. Replicas look up their own rank's samples only, so data_parallel tables send
/// nothing. Row-wise and grid tables send a rank the ids of its rows alone. `model` is in the plan's order.
std::vector<std::int64_t> FeaturesOfRank(const ShardingPlan& plan, std::span<const TableShape> model,
                                         std::int64_t rank);

/// Where the rows of a row_wise or grid table are: row id is on rank first_ranks[g] + id / block_size for
/// each group g that holds a column slice of it (row_wise: one group, all the ranks).
struct RowSplit {
  std::int64_t block_size = 1;
  std::vector<std::int64_t> first_ranks;  ///< of the groups, ascending, each once
};
RowSplit RowSplitOf(const TablePlan& table, std::int64_t world);

struct RankBytes {
  std::int64_t weights = 0;
  std::int64_t state = 0;
  std::int64_t total() const { return weights + state; }
};

/// Bytes of fp32 weights and optimizer state of each rank, if every row is resident; padding not counted.
/// `model` is in the plan's order. Throws Error when a sum does not fit in 63 bits.
std::vector<RankBytes> BytesPerRank(const ShardingPlan& plan, std::span<const TableShape> model);

/// The most that `count` of the ranks hold together, at most all of them. Throws Error as BytesPerRank does.
RankBytes MostBytesOf(std::vector<RankBytes> ranks, std::int64_t count);

}  // namespace hotrow
