#include "hotrow/plan/plan_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "hotrow/base/error.h"
#include "random_plans.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Random;
using testing::RandomMixedPlan;
using testing::RandomModel;
using testing::Table;
using testing::Uniform;

TEST(RowBlock, IsFbgemmsRule) {
  EXPECT_EQ(RowBlockSize(10, 4), 3);
  EXPECT_EQ(RowBlock(10, 4, 3).begin, 9);
  EXPECT_EQ(RowBlock(10, 4, 3).end, 10);
  EXPECT_EQ(RowBlock(5, 4, 3).size(), 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(RowBlock(kMost, 64, 63).end, kMost);
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t rows = Uniform(random, 1, 300);
    const std::int64_t ranks = Uniform(random, 1, 64);
    std::int64_t covered = 0;
    for (std::int64_t r = 0; r < ranks; ++r) {
      const Slice block = RowBlock(rows, ranks, r);
      EXPECT_EQ(block.begin, covered);
      covered = block.end;
      for (std::int64_t row = block.begin; row < block.end; ++row)
        EXPECT_EQ(row / RowBlockSize(rows, ranks), r);
    }
    EXPECT_EQ(covered, rows);
  }
}

TEST(ShardsOfRank, AllOfThemInOrder) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t world = Uniform(random, 1, 16);
    const ShardingPlan plan = RandomMixedPlan(random, RandomModel(random, 5), world);
    std::size_t found = 0;
    for (std::int64_t rank = 0; rank < world; ++rank) {
      std::int64_t table = 0;
      std::int64_t column = 0;
      for (const RankShard& s : ShardsOfRank(plan, rank)) {
        ++found;
        EXPECT_EQ(s.shard.rank, rank);
        EXPECT_EQ(std::ranges::count(plan.tables[static_cast<std::size_t>(s.table)].shards, s.shard), 1);
        EXPECT_GE(s.table, table);
        if (s.table == table) {
          EXPECT_GE(s.shard.first_column, column);
        }
        table = s.table;
        column = s.shard.first_column;
      }
    }
    std::size_t all = 0;
    for (const TablePlan& table : plan.tables) all += table.shards.size();
    EXPECT_EQ(found, all);
  }
}

TEST(FeaturesOfRank, EachOnceHoweverManyShards) {
  std::vector<TableShape> model = {Table("columns", 10, 12), Table("replica", 10, 4), Table("rows", 3, 4)};
  model[0].features = {5, 1};
  model[1].features = {0};
  model[2].features = {3, 2, 4};
  const ShardingPlan plan{3,
                          {{"columns",
                            10,
                            12,
                            ShardingType::kColumnWise,
                            0,
                            {{1, 0, 10, 8, 4}, {0, 0, 10, 4, 4}, {1, 0, 10, 0, 4}}},
                           {"replica",
                            10,
                            4,
                            ShardingType::kDataParallel,
                            0,
                            {{0, 0, 10, 0, 4}, {1, 0, 10, 0, 4}, {2, 0, 10, 0, 4}}},
                           {"rows", 2, 4, ShardingType::kRowWise, 0, {{0, 0, 1, 0, 4}, {1, 1, 1, 0, 4}}}}};
  EXPECT_THAT(FeaturesOfRank(plan, model, 0), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(FeaturesOfRank(plan, model, 1), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(FeaturesOfRank(plan, model, 2), IsEmpty());
}

TEST(RowSplit, FindsTheShardOfEveryRow) {
  Random random(3);
  int seen = 0;
  for (int i = 0; i < 300; ++i) {
    const std::int64_t world = Uniform(random, 1, 24);
    const std::vector<TableShape> model = {Table("t", Uniform(random, 1, 100), Uniform(random, 1, 30))};
    const ShardingPlan plan = RandomMixedPlan(random, model, world);
    const TablePlan& table = plan.tables[0];
    if (table.sharding != ShardingType::kRowWise && table.sharding != ShardingType::kGrid) continue;
    ++seen;
    const RowSplit split = RowSplitOf(table, world);
    for (std::int64_t row = 0; row < table.rows; ++row) {
      std::set<std::int64_t> expected;
      for (const PlanShard& s : table.shards) {
        if (s.first_row <= row && row < s.first_row + s.rows) expected.insert(s.rank);
      }
      std::set<std::int64_t> found;
      for (const std::int64_t first : split.first_ranks) found.insert(first + row / split.block_size);
      EXPECT_EQ(found, expected);
      EXPECT_EQ(found.size(), split.first_ranks.size());
    }
  }
  EXPECT_GT(seen, 50);
}

TEST(BytesPerRank, CountsWeightsAndState) {
  std::vector<TableShape> model = {Table("adam", 10, 12), Table("row_wise_adagrad", 7, 8)};
  model[0].state_per_element = 2;
  model[1].state_per_element = 0;
  model[1].state_per_row = 1;
  const ShardingPlan plan{
      3,
      {{"adam", 10, 12, ShardingType::kTableWise, 0, {{0, 0, 10, 0, 12}}},
       {"row_wise_adagrad", 7, 8, ShardingType::kColumnWise, 0, {{0, 0, 7, 0, 4}, {2, 0, 7, 4, 4}}}}};
  const std::vector<RankBytes> bytes = BytesPerRank(plan, model);
  EXPECT_EQ(bytes[0].weights, 4 * (120 + 28));
  EXPECT_EQ(bytes[0].state, 4 * (240 + 7));
  EXPECT_EQ(bytes[1].total(), 0);
  EXPECT_EQ(bytes[2].weights, 4 * 28);
  EXPECT_EQ(bytes[2].state, 4 * 7);
  EXPECT_EQ(bytes[2].total(), 4 * 35);
}

TEST(BytesPerRank, TheMostOnAHostIsOfItsLargestRanks) {
  const std::vector<RankBytes> ranks = {{10, 1}, {0, 0}, {400, 50}, {30, 2}};
  EXPECT_EQ(MostBytesOf(ranks, 1).total(), 450);
  EXPECT_EQ(MostBytesOf(ranks, 2).weights, 430);
  EXPECT_EQ(MostBytesOf(ranks, 2).state, 52);
  EXPECT_EQ(MostBytesOf(ranks, 4).total(), 493) << "all: what the model takes, not four times the largest";
  EXPECT_EQ(MostBytesOf(ranks, 9).total(), 493);
  constexpr std::int64_t kHalf = std::int64_t{1} << 62;
  EXPECT_THROW(MostBytesOf({{kHalf, 0}, {kHalf, 0}}, 2), Error);
}

TEST(BytesPerRank, OverflowIsAnError) {
  constexpr std::int64_t kRows = std::int64_t{1} << 59;
  const std::vector<TableShape> model = {Table("t", kRows, 4)};
  const ShardingPlan plan{1, {{"t", kRows, 4, ShardingType::kTableWise, 0, {{0, 0, kRows, 0, 4}}}}};
  EXPECT_THROW(BytesPerRank(plan, model), Error);
}

TEST(BytesPerRank, SumsToTheModel) {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t world = Uniform(random, 1, 32);
    const std::vector<TableShape> model = RandomModel(random, 6);
    const ShardingPlan plan = RandomMixedPlan(random, model, world);
    std::int64_t expected = 0;
    for (std::size_t t = 0; t < model.size(); ++t) {
      const bool replicated = plan.tables[t].sharding == ShardingType::kDataParallel;
      expected += 4 * model[t].rows * model[t].dim * (replicated ? world : 1);
    }
    std::int64_t found = 0;
    for (const RankBytes& bytes : BytesPerRank(plan, model)) found += bytes.weights;
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace hotrow
