#include "hotrow/plan/plan_queries.h"

#include <algorithm>
#include <tuple>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {

std::vector<RankShard> ShardsOfRank(const ShardingPlan& plan, std::int64_t rank) {
  std::vector<RankShard> found;
  for (std::size_t t = 0; t < plan.tables.size(); ++t) {
    for (const PlanShard& shard : plan.tables[t].shards) {
      if (shard.rank == rank) found.push_back({static_cast<std::int64_t>(t), shard});
    }
  }
  std::ranges::sort(found, {}, [](const RankShard& s) {
    return std::tuple(s.table, s.shard.first_column, s.shard.first_row);
  });
  return found;
}

std::vector<std::int64_t> FeaturesOfRank(const ShardingPlan& plan, std::span<const TableShape> model,
                                         std::int64_t rank) {
  HOTROW_CHECK(plan.tables.size() == model.size());
  std::vector<std::int64_t> features;
  for (std::size_t t = 0; t < model.size(); ++t) {
    const TablePlan& table = plan.tables[t];
    if (table.sharding == ShardingType::kDataParallel) continue;
    const bool holds =
        std::ranges::any_of(table.shards, [rank](const PlanShard& shard) { return shard.rank == rank; });
    if (holds) features.insert(features.end(), model[t].features.begin(), model[t].features.end());
  }
  std::ranges::sort(features);
  return features;
}

RowSplit RowSplitOf(const TablePlan& table, std::int64_t world) {
  const bool grid = table.sharding == ShardingType::kGrid;
  HOTROW_CHECK(grid || table.sharding == ShardingType::kRowWise);
  RowSplit split;
  split.block_size = RowBlockSize(table.rows, grid ? table.group_size : world);
  for (const PlanShard& shard : table.shards) {
    if (shard.first_row == 0) split.first_ranks.push_back(shard.rank);
  }
  std::ranges::sort(split.first_ranks);
  const auto repeated = std::ranges::unique(split.first_ranks);
  split.first_ranks.erase(repeated.begin(), repeated.end());
  return split;
}

std::vector<RankBytes> BytesPerRank(const ShardingPlan& plan, std::span<const TableShape> model) {
  HOTROW_CHECK(plan.tables.size() == model.size());
  constexpr std::int64_t kFloat = sizeof(float);
  std::vector<RankBytes> bytes(Index(plan.world));
  for (std::size_t t = 0; t < model.size(); ++t) {
    for (const PlanShard& shard : plan.tables[t].shards) {
      RankBytes& rank = bytes[Index(shard.rank)];
      const std::int64_t row_bytes = CheckedMul(shard.rows, kFloat);
      rank.weights = CheckedAdd(rank.weights, CheckedMul(row_bytes, shard.columns));
      rank.state = CheckedAdd(rank.state, CheckedMul(row_bytes, model[t].StateOfRow(shard.columns)));
      CheckedAdd(rank.weights, rank.state);
    }
  }
  return bytes;
}

RankBytes MostBytesOf(std::vector<RankBytes> ranks, std::int64_t count) {
  std::ranges::sort(ranks, std::ranges::greater(), &RankBytes::total);
  RankBytes most;
  for (std::int64_t r = 0; r < std::min(count, std::ssize(ranks)); ++r) {
    const RankBytes& rank = ranks[Index(r)];
    most.weights = CheckedAdd(most.weights, rank.weights);
    most.state = CheckedAdd(most.state, rank.state);
    CheckedAdd(most.weights, most.state);
  }
  return most;
}

}  // namespace hotrow
