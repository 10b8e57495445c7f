#include "hotrow/plan/check_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "hotrow/base/error.h"
#include "random_plans.h"

namespace hotrow {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Random;
using testing::RandomMixedPlan;
using testing::RandomModel;
using testing::RandomNonsense;
using testing::Table;
using testing::Uniform;

TablePlan MakeTable(ShardingType sharding, std::vector<PlanShard> shards, std::int64_t group_size = 0) {
  return {
      .table = "t", .rows = 10, .dim = 22, .sharding = sharding, .group_size = group_size, .shards = shards};
}

std::string ErrorIn(const TablePlan& table, std::int64_t world = 4) {
  return ErrorOf([&] { Validate({.world = world, .tables = {table}}, "p.json"); });
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(ValidatePlan, EveryRuleHasItsMessage) {
  using enum ShardingType;
  const auto whole = [](std::int64_t rank) { return PlanShard{rank, 0, 10, 0, 22}; };
  const struct {
    TablePlan table;
    std::string error;
  } cases[] = {
      // Any sharding.
      {MakeTable(kTableWise, {}), "p.json: table 't': no shards hold it"},
      {MakeTable(kTableWise, {whole(4)}),
       "p.json: table 't', rank 4: not a rank of a world of 4; valid are 0 to 3"},
      {MakeTable(kTableWise, {whole(-1)}),
       "p.json: table 't', rank -1: not a rank of a world of 4; valid are 0 to 3"},
      {MakeTable(kTableWise, {{1, 0, 0, 0, 22}}),
       "p.json: table 't', rank 1: a shard of 0 rows x 22 columns; a shard holds at least 1 of each"},
      {MakeTable(kTableWise, {{1, 0, 10, 0, -3}}),
       "p.json: table 't', rank 1: a shard of 10 rows x -3 columns; a shard holds at least 1 of each"},
      {MakeTable(kTableWise, {{1, 1, 10, 0, 22}}),
       "p.json: table 't', rank 1: 10 rows from row 1 on are not inside the table's 10 rows"},
      {MakeTable(kTableWise, {{1, kHuge, kHuge, 0, 22}}),
       fmt::format("p.json: table 't', rank 1: {0} rows from row {0} on are not inside the table's 10 rows",
                   kHuge)},
      {MakeTable(kTableWise, {{1, -5, 10, 0, 22}}),
       "p.json: table 't', rank 1: 10 rows from row -5 on are not inside the table's 10 rows"},
      {MakeTable(kTableWise, {{1, 0, 10, 4, 22}}),
       "p.json: table 't', rank 1: 22 columns from column 4 on are not inside the table's 22 columns"},
      {MakeTable(kColumnWise, {{0, 0, 10, 0, 6}, {1, 0, 10, 6, 16}}),
       "p.json: table 't', rank 1: columns [6, 22) start at a column that is not a multiple of 4"},
      {MakeTable(kRowWise, {whole(0)}, 2),
       "p.json: table 't': group_size 2 on a row_wise table; only grid has groups"},
      // table_wise.
      {MakeTable(kTableWise, {whole(0), whole(3)}),
       "p.json: table 't', rank 3: shard 2 of 2; a table_wise table is one shard on one rank"},
      {MakeTable(kTableWise, {{2, 0, 9, 0, 22}}),
       "p.json: table 't', rank 2: rows [0, 9) of 10; a table_wise shard holds every row"},
      {MakeTable(kTableWise, {{2, 0, 10, 4, 18}}),
       "p.json: table 't', rank 2: columns [4, 22) of 22; a table_wise shard holds every column"},
      // column_wise.
      {MakeTable(kColumnWise, {{0, 0, 10, 0, 8}, {3, 2, 8, 8, 14}}),
       "p.json: table 't', rank 3: rows [2, 10) of 10; a column_wise shard holds every row"},
      {MakeTable(kColumnWise, {{0, 0, 10, 12, 10}, {3, 0, 10, 0, 13}}),
       "p.json: table 't', rank 0: columns [12, 22) overlap columns [0, 13) on rank 3; every column is "
       "held once"},
      {MakeTable(kColumnWise, {{2, 0, 10, 16, 6}, {3, 0, 10, 0, 12}}),
       "p.json: table 't', rank 2: nobody holds columns [12, 16) before its columns [16, 22); every "
       "column is held once"},
      {MakeTable(kColumnWise, {{2, 0, 10, 4, 18}}),
       "p.json: table 't', rank 2: nobody holds columns [0, 4) before its columns [4, 22); every column "
       "is held once"},
      {MakeTable(kColumnWise, {{0, 0, 10, 0, 8}, {1, 0, 10, 8, 13}}),
       "p.json: table 't', rank 1: nobody holds columns [21, 22) after its columns [8, 21); every "
       "column is held once"},
      // row_wise: blocks of 3, the last of 1.
      {MakeTable(kRowWise, {{0, 0, 3, 0, 22}, {1, 3, 4, 0, 22}, {2, 7, 3, 0, 22}}),
       "p.json: table 't', rank 1: rows [3, 7); 10 rows row_wise over 4 ranks give it rows [3, 6)"},
      {MakeTable(kRowWise, {{0, 0, 3, 0, 22}, {1, 3, 3, 0, 22}, {2, 6, 3, 0, 22}}),
       "p.json: table 't', rank 3: has no shard with rows [9, 10); every row is held once"},
      {MakeTable(kRowWise, {{0, 0, 3, 0, 22}, {0, 0, 3, 0, 22}}),
       "p.json: table 't', rank 0: columns [0, 22) rows [0, 3) are there twice; every row is held once"},
      {MakeTable(kRowWise, {{0, 0, 3, 0, 12}}),
       "p.json: table 't', rank 0: columns [0, 12) of 22; a row_wise shard holds every column"},
      // data_parallel.
      {MakeTable(kDataParallel, {whole(0), whole(1), whole(3)}),
       "p.json: table 't', rank 2: no replica; a data_parallel table has one a rank"},
      {MakeTable(kDataParallel, {whole(0), whole(1), whole(1), whole(3)}),
       "p.json: table 't', rank 1: a second replica; a data_parallel table has one a rank"},
      {MakeTable(kDataParallel, {whole(0), {1, 0, 10, 0, 20}}),
       "p.json: table 't', rank 1: columns [0, 20) of 22; a data_parallel shard holds every column"},
      {MakeTable(kDataParallel, {whole(0), {1, 0, 5, 0, 22}}),
       "p.json: table 't', rank 1: rows [0, 5) of 10; a data_parallel shard holds every row"},
      // grid: groups of 2, blocks of 5.
      {MakeTable(kGrid, {whole(0)}), "p.json: table 't': group_size 0 does not divide 4 ranks into groups"},
      {MakeTable(kGrid, {whole(0)}, 3),
       "p.json: table 't': group_size 3 does not divide 4 ranks into groups"},
      {MakeTable(kGrid, {{1, 0, 5, 0, 22}, {2, 5, 5, 0, 22}}, 2),
       "p.json: table 't', rank 1: rows [0, 5); 10 rows grid over 2 ranks give it rows [5, 10)"},
      {MakeTable(kGrid, {{0, 0, 5, 0, 22}, {2, 5, 5, 0, 22}}, 2),
       "p.json: table 't', rank 2: columns [0, 22) rows [5, 10) lie outside the ranks 0 to 1 of its group"},
      {MakeTable(kGrid, {{2, 0, 5, 0, 22}}, 2),
       "p.json: table 't', rank 3: has no shard with rows [5, 10); every row is held once"},
      {MakeTable(kGrid, {{2, 0, 5, 0, 22}, {3, 5, 5, 0, 12}}, 2),
       "p.json: table 't', rank 3: columns [0, 12), but columns [0, 22) on rank 2; the shards of a "
       "grid's slice are equally wide"},
      {MakeTable(kGrid, {{2, 0, 5, 0, 12}, {3, 5, 5, 0, 12}, {0, 0, 5, 8, 14}, {1, 5, 5, 8, 14}}, 2),
       "p.json: table 't', rank 0: columns [8, 22) overlap columns [0, 12) on rank 2; every column is "
       "held once"},
  };
  for (const auto& c : cases) EXPECT_EQ(ErrorIn(c.table), c.error);
}

TEST(ValidatePlan, RanksThatHoldNothingHaveNoShard) {
  // 5 rows over 4 ranks: blocks of 2, the last rank none.
  TablePlan table{"t", 5, 4, ShardingType::kRowWise, 0, {{0, 0, 2, 0, 4}, {1, 2, 2, 0, 4}, {2, 4, 1, 0, 4}}};
  EXPECT_EQ(ErrorIn(table), "no error");
  table.shards.push_back({3, 4, 1, 0, 4});
  EXPECT_EQ(ErrorIn(table),
            "p.json: table 't', rank 3: rows [4, 5); 5 rows row_wise over 4 ranks leave it none");
}

TEST(ValidatePlan, WorldNamesAndSizes) {
  const TablePlan good = MakeTable(ShardingType::kTableWise, {{0, 0, 10, 0, 22}});
  EXPECT_EQ(ErrorIn(good, 0), "p.json: a world of 0 ranks; valid are 1 to 65536");
  EXPECT_EQ(ErrorIn(good, 65'537), "p.json: a world of 65537 ranks; valid are 1 to 65536");
  EXPECT_EQ(ErrorOf([&] { Validate({1, {good, good}}); }), "plan: table 't' is there twice");
  TablePlan bad = good;
  bad.table = "";
  EXPECT_EQ(ErrorIn(bad), "p.json: a table has no name");
  bad = good;
  bad.rows = 0;
  EXPECT_EQ(ErrorIn(bad), "p.json: table 't': 0 rows x 22 columns; at least 1 of each is valid");
  EXPECT_NO_THROW(Validate({3, {}}));
}

TEST(ValidatePlan, AcceptsEveryMixedPlan) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t world = Uniform(random, 1, 64);
    const std::vector<TableShape> model = RandomModel(random, Uniform(random, 0, 8));
    const ShardingPlan plan = RandomMixedPlan(random, model, world);
    EXPECT_EQ(ErrorOf([&] { Validate(plan); }), "no error");
  }
}

// How often each cell (row, column) of a small table is held, counted one by one: the oracle for coverage.
bool CoversOnce(const TablePlan& table, std::int64_t world) {
  const std::int64_t expected = table.sharding == ShardingType::kDataParallel ? world : 1;
  std::vector<std::int64_t> held(static_cast<std::size_t>(table.rows * table.dim), 0);
  for (const PlanShard& s : table.shards) {
    for (std::int64_t r = s.first_row; r < s.first_row + s.rows; ++r) {
      for (std::int64_t c = s.first_column; c < s.first_column + s.columns; ++c) {
        if (r < 0 || r >= table.rows || c < 0 || c >= table.dim) return false;
        ++held[static_cast<std::size_t>(r * table.dim + c)];
      }
    }
  }
  return std::ranges::all_of(held, [expected](std::int64_t n) { return n == expected; });
}

TEST(ValidatePlan, WhateverPassesCoversTheTableOnce) {
  Random random(2);
  int refused = 0;
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t world = Uniform(random, 1, 6);
    const std::vector<TableShape> model = {Table("t", Uniform(random, 1, 12), Uniform(random, 1, 20))};
    ShardingPlan plan = RandomMixedPlan(random, model, world);
    std::vector<PlanShard>& shards = plan.tables[0].shards;
    PlanShard& shard = shards[static_cast<std::size_t>(Uniform(random, 0, std::ssize(shards) - 1))];
    // One change, which may be none.
    const std::int64_t change = Uniform(random, -1, 1) * (Uniform(random, 0, 1) == 0 ? 1 : 4);
    std::int64_t* const fields[] = {&shard.rank, &shard.first_row, &shard.rows, &shard.first_column,
                                    &shard.columns};
    const std::int64_t what = Uniform(random, 0, 6);
    if (what < 5) {
      *fields[what] += change;
    } else if (what == 5) {
      shards.push_back(shard);
    } else {
      shards.pop_back();
    }
    if (ErrorOf([&] { Validate(plan); }) == "no error") {
      ++accepted;
      EXPECT_TRUE(CoversOnce(plan.tables[0], world));
    } else {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 1000);
}

TEST(ValidatePlan, NonsenseIsRefusedNotACrash) {
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    const ShardingPlan plan = RandomNonsense(random);
    try {
      Validate(plan);
    } catch (const Error&) {
    }
  }
}

TEST(PlanForModel, OrdersTablesAsTheModel) {
  Random random(4);
  const std::vector<TableShape> model = RandomModel(random, 7);
  ShardingPlan plan = RandomMixedPlan(random, model, 6);
  const ShardingPlan expected = plan;
  std::ranges::shuffle(plan.tables, random);
  EXPECT_EQ(PlanForModel(plan, model, 6), expected);
}

TEST(PlanForModel, RefusesAnotherWorldOrModel) {
  const std::vector<TableShape> model = {Table("a", 10, 8), Table("b", 20, 8)};
  const TablePlan a{"a", 10, 8, ShardingType::kTableWise, 0, {{0, 0, 10, 0, 8}}};
  const TablePlan b{"b", 20, 8, ShardingType::kTableWise, 0, {{1, 0, 20, 0, 8}}};
  const auto error = [&](std::vector<TablePlan> tables, std::int64_t world = 2) {
    return ErrorOf([&] { PlanForModel({2, tables}, model, world, "p.json"); });
  };
  EXPECT_EQ(error({b, a}), "no error");
  EXPECT_EQ(error({a, b}, 4), "p.json: made for a world of 2 ranks, but this one has 4");
  EXPECT_EQ(error({a}),
            "p.json: made for another model: no table 'b', which the model has; `hotrow plan make` with "
            "the model's --format or --schema plans for its tables");
  TablePlan c = a;
  c.table = "c";
  EXPECT_EQ(error({a, b, c}),
            "p.json: made for another model: table 'c' is not in the model, which has 'a', 'b'");
  c = b;
  c.rows = c.shards[0].rows = 21;
  EXPECT_EQ(error({a, c}),
            "p.json: made for another model: table 'b' is 21 rows x 8 columns there, 20 x 8 in the model");
  c = b;
  c.dim = c.shards[0].columns = 12;
  EXPECT_THAT(error({a, c}), HasSubstr("table 'b' is 20 rows x 12 columns there, 20 x 8 in the model"));
  c = b;
  c.shards[0].rank = 2;
  EXPECT_THAT(error({a, c}), HasSubstr("table 'b', rank 2: not a rank"));
}

TEST(Bits, AreLeftAloneUnlessATableIsSplitByRows) {
  using enum ShardingType;
  const std::vector<ShardingType> promising = {kTableWise, kColumnWise, kDataParallel};
  for (const ShardingType type : {kTableWise, kColumnWise, kRowWise, kGrid, kDataParallel}) {
    const ShardingPlan plan{4, {MakeTable(kTableWise, {}), MakeTable(type, {})}};
    EXPECT_EQ(PromisesBits(plan), std::ranges::count(promising, type) == 1) << ToString(type);
  }
  EXPECT_TRUE(PromisesBits({}));
}

}  // namespace
}  // namespace hotrow
