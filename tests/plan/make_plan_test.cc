#include "hotrow/plan/make_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/data/presets.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/plan_queries.h"
#include "random_plans.h"

namespace hotrow {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Random;
using testing::RandomModel;
using testing::Table;
using testing::Uniform;

constexpr PlanKind kKinds[] = {PlanKind::kTableWise, PlanKind::kColumnWise,   PlanKind::kRowWise,
                               PlanKind::kGrid,      PlanKind::kDataParallel, PlanKind::kAuto};

std::vector<TableShape> Dlrm(const std::string& cardinality, std::int64_t dim) {
  const std::vector<std::int64_t> rows = CardinalityPreset(cardinality);
  const std::vector<std::int32_t> ids = ParseMultiHot("mlperf", std::ssize(rows));
  std::vector<TableShape> model;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    model.push_back(Table("t_f" + std::to_string(t), rows[t], dim, ids[t], static_cast<std::int64_t>(t)));
  }
  return model;
}

TEST(MakePlan, EveryKindIsValidForItsModelAndDeterministic) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const std::int64_t world = Uniform(random, 1, 64);
    std::vector<TableShape> model = RandomModel(random, Uniform(random, 0, 12));
    for (const PlanKind kind : kKinds) {
      if (kind == PlanKind::kColumnWise) {
        for (TableShape& table : model) table.dim = 4 * world * Uniform(random, 1, 3);
      }
      const ShardingPlan plan = MakePlan(kind, model, world);
      EXPECT_EQ(ErrorOf([&] { PlanForModel(plan, model, world); }), "no error");
      EXPECT_EQ(plan, MakePlan(kind, model, world));
      EXPECT_EQ(std::ssize(plan.tables), std::ssize(model));
    }
  }
}

TEST(MakePlan, ColumnWiseGivesRankIItsIthColumns) {
  const std::vector<TableShape> model = Dlrm("shrunk", 128);
  const ShardingPlan plan = MakePlan(PlanKind::kColumnWise, model, 32);
  for (const TablePlan& table : plan.tables) {
    ASSERT_EQ(table.shards.size(), 32U);
    for (std::int64_t rank = 0; rank < 32; ++rank) {
      EXPECT_EQ(table.shards[static_cast<std::size_t>(rank)], (PlanShard{rank, 0, table.rows, 4 * rank, 4}));
    }
  }
}

TEST(MakePlan, ColumnWiseKeepsTheOriginalsRules) {
  for (std::int64_t world = 2; world <= 64; ++world) {
    for (std::int64_t dim = 1; dim <= 260; ++dim) {
      const bool fits = dim % world == 0 && dim / world % 4 == 0;
      const std::vector<TableShape> model = {Table("t", 100, dim)};
      EXPECT_EQ(ErrorOf([&] { MakePlan(PlanKind::kColumnWise, model, world); }) == "no error", fits)
          << dim << " over " << world;
    }
  }
  // One rank splits nothing.
  const std::vector<TableShape> odd = {Table("t", 100, 10)};
  EXPECT_THAT(MakePlan(PlanKind::kColumnWise, odd, 1).tables[0].shards,
              ElementsAre(PlanShard{0, 0, 100, 0, 10}));
}

TEST(MakePlan, ColumnWiseRefusalNamesWhatWouldFit) {
  const auto error = [](std::int64_t dim, std::int64_t world) {
    const std::vector<TableShape> model = {Table("t_f0", 100, dim)};
    return ErrorOf([&] { MakePlan(PlanKind::kColumnWise, model, world); });
  };
  EXPECT_EQ(error(128, 3),
            "column_wise: table 't_f0': 128 columns over 3 ranks; every rank's width must be equal and "
            "a multiple of 4. Ranks that fit 128 columns: 1, 2, 4, 8, 16, 32. Dims that fit 3 ranks: "
            "multiples of 12, such as 120 and 132. A plan file may hold unequal shards");
  EXPECT_THAT(error(128, 64),
              AllOf(HasSubstr("1, 2, 4, 8, 16, 32."), HasSubstr("multiples of 256, such as 256.")));
  EXPECT_THAT(error(10, 2), HasSubstr("Ranks that fit 10 columns: 1."));
}

TEST(MakePlan, RowWiseIsBlocks) {
  const std::vector<TableShape> model = {Table("a", 10, 6), Table("b", 2, 6)};
  const ShardingPlan plan = MakePlan(PlanKind::kRowWise, model, 4);
  EXPECT_THAT(plan.tables[0].shards, ElementsAre(PlanShard{0, 0, 3, 0, 6}, PlanShard{1, 3, 3, 0, 6},
                                                 PlanShard{2, 6, 3, 0, 6}, PlanShard{3, 9, 1, 0, 6}));
  EXPECT_THAT(plan.tables[1].shards, ElementsAre(PlanShard{0, 0, 1, 0, 6}, PlanShard{1, 1, 1, 0, 6}));
}

TEST(MakePlan, GridKeepsATableInsideAGroup) {
  const std::vector<TableShape> model = Dlrm("tiny", 128);
  const std::pair<std::int64_t, std::int64_t> defaults[] = {{1, 1}, {2, 2},  {4, 2},  {6, 3}, {7, 7},
                                                            {8, 4}, {16, 4}, {32, 8}, {64, 8}};
  for (const auto& [world, size] : defaults) {
    std::set<std::int64_t> groups;
    for (const TablePlan& table : MakePlan(PlanKind::kGrid, model, world).tables) {
      EXPECT_EQ(table.group_size, size) << world;
      const std::int64_t group = table.shards[0].rank / size;
      groups.insert(group);
      for (const PlanShard& shard : table.shards) EXPECT_EQ(shard.rank / size, group);
    }
    EXPECT_EQ(std::ssize(groups), world / size);
  }
  EXPECT_EQ(MakePlan(PlanKind::kGrid, model, 8, {.group_size = 2}).tables[0].group_size, 2);
  EXPECT_EQ(ErrorOf([&] { MakePlan(PlanKind::kGrid, model, 8, {.group_size = 3}); }),
            "grid: groups of 3 ranks do not divide a world of 8; valid are 1, 2, 4, 8");
}

// Load of each rank in ids x width.
std::vector<double> IdsByWidth(const ShardingPlan& plan, const std::vector<TableShape>& model) {
  std::vector<double> load(static_cast<std::size_t>(plan.world), 0.0);
  for (std::size_t t = 0; t < model.size(); ++t) {
    for (const PlanShard& shard : plan.tables[t].shards) {
      load[static_cast<std::size_t>(shard.rank)] +=
          model[t].ids_per_sample * static_cast<double>(shard.columns);
    }
  }
  return load;
}

TEST(MakePlan, TableWiseExceedsTheMeanByATableAtMost) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t world = Uniform(random, 1, 20);
    const std::vector<TableShape> model = RandomModel(random, Uniform(random, 1, 60));
    double sum = 0;
    double largest = 0;
    for (const TableShape& table : model) {
      sum += table.ids_per_sample * static_cast<double>(table.dim);
      largest = std::max(largest, table.ids_per_sample * static_cast<double>(table.dim));
    }
    const std::vector<double> load = IdsByWidth(MakePlan(PlanKind::kTableWise, model, world), model);
    EXPECT_LE(std::ranges::max(load), sum / static_cast<double>(world) + largest + 1e-6);
  }
}

TEST(MakePlan, TableWisePlacesTheCostliestFirst) {
  const std::vector<TableShape> model = {Table("a", 9, 4, 1), Table("b", 9, 4, 1), Table("c", 9, 4, 1),
                                         Table("d", 9, 4, 3)};
  EXPECT_THAT(IdsByWidth(MakePlan(PlanKind::kTableWise, model, 2), model), ElementsAre(12, 12));
}

TEST(MakePlan, TablesWithoutIdsAreStillSpread) {
  std::vector<TableShape> model;
  for (int t = 0; t < 12; ++t) model.push_back(Table("t" + std::to_string(t), 100, 8, 0));
  const ShardingPlan plan = MakePlan(PlanKind::kTableWise, model, 4);
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(ShardsOfRank(plan, rank).size(), 3U);
}

TEST(MakePlan, AutoSplitsWhatExceedsAFairShare) {
  const std::vector<TableShape> model = Dlrm("mlperf", 128);
  for (const std::int64_t world : {1, 2, 4, 8, 16}) {
    const ShardingPlan plan = MakePlan(PlanKind::kAuto, model, world);
    EXPECT_TRUE(PromisesBits(plan));
    const double fair = 1.0 / static_cast<double>(world);
    double all_bytes = 0;
    std::vector<double> bytes;
    for (const RankBytes& rank : BytesPerRank(plan, model)) {
      bytes.push_back(static_cast<double>(rank.total()));
      all_bytes += bytes.back();
    }
    const std::vector<double> ids = IdsByWidth(plan, model);
    double all_ids = 0;
    for (const double load : ids) all_ids += load;
    for (std::size_t rank = 0; rank < ids.size(); ++rank) {
      EXPECT_LE(ids[rank] / all_ids, 1.5 * fair) << world;
      EXPECT_LE(bytes[rank] / all_bytes, 1.5 * fair) << world;
    }
    for (std::size_t t = 0; t < model.size(); ++t) {
      const bool large = 4.0 * 2 * 128 * static_cast<double>(model[t].rows) > fair * all_bytes ||
                         model[t].ids_per_sample > fair * 214;
      if (!large) {
        EXPECT_EQ(plan.tables[t].shards.size(), 1U) << t << " of " << world;
      }
    }
  }
}

TEST(MakePlan, AutoJoinsPartsOfATableThatMeetOnOneRank) {
  Random random(3);
  int split = 0;
  for (int i = 0; i < 300; ++i) {
    for (const TablePlan& table :
         MakePlan(PlanKind::kAuto, RandomModel(random, 5), Uniform(random, 1, 9)).tables) {
      EXPECT_EQ(table.shards.size() > 1, table.sharding == ShardingType::kColumnWise);
      split += table.shards.size() > 1 ? 1 : 0;
      for (std::size_t s = 1; s < table.shards.size(); ++s)
        EXPECT_NE(table.shards[s].rank, table.shards[s - 1].rank);
    }
  }
  EXPECT_GT(split, 100);
}

TEST(MakePlan, AutoSplitsToRaggedWidths) {
  const std::vector<TableShape> model = {Table("wide", 1000, 22), Table("narrow", 100000, 4)};
  const ShardingPlan plan = MakePlan(PlanKind::kAuto, model, 4);
  std::vector<std::int64_t> widths;
  for (const PlanShard& shard : plan.tables[0].shards) widths.push_back(shard.columns);
  // 85 % of ids x width want four ranks: 6 units of columns in parts of 2, 2, 1 and 1, the last ragged. The
  // narrow table's bytes fill one rank, so the last two parts meet.
  EXPECT_THAT(widths, ElementsAre(8, 8, 6));
  EXPECT_EQ(plan.tables[0].sharding, ShardingType::kColumnWise);
  EXPECT_EQ(plan.tables[1].sharding, ShardingType::kTableWise);
}

TEST(MakePlan, WorldsOutsideTheRangeAreRefused) {
  const std::vector<TableShape> model = {Table("t", 100, 8)};
  for (const std::int64_t world : {std::int64_t{-1}, std::int64_t{0}, kMaxPlanWorld + 1}) {
    for (const PlanKind kind : kKinds) {
      EXPECT_THAT(ErrorOf([&] { MakePlan(kind, model, world); }), HasSubstr("valid are 1 to 65536"));
    }
  }
}

TEST(PlanKind, ParsesItsNames) {
  std::set<PlanKind> kinds;
  for (const char* name : {"table_wise", "column_wise", "row_wise", "grid", "data_parallel", "auto"}) {
    kinds.insert(ParsePlanKind(name));
  }
  EXPECT_EQ(kinds.size(), 6U);
  EXPECT_EQ(ErrorOf([] { ParsePlanKind("diagonal"); }),
            "sharding: 'diagonal' is none of table_wise, column_wise, row_wise, grid, data_parallel, auto");
}

}  // namespace
}  // namespace hotrow
