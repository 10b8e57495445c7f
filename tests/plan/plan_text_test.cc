#include "hotrow/plan/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "hotrow/plan/make_plan.h"
#include "random_plans.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Random;
using testing::RandomMixedPlan;
using testing::RandomModel;
using testing::RandomNonsense;
using testing::Table;
using testing::Uniform;

TEST(PlanText, ShowsRanksAndTables) {
  std::vector<TableShape> model = {Table("users", 4'000'000, 64, 3), Table("cities", 1000, 8, 1),
                                   Table("items", 10, 16, 2), Table("days", 7, 4, 1)};
  model[1].state_per_element = 0;
  const ShardingPlan plan{8,
                          {{"users",
                            4'000'000,
                            64,
                            ShardingType::kColumnWise,
                            0,
                            {{0, 0, 4'000'000, 0, 32}, {0, 0, 4'000'000, 32, 16}, {1, 0, 4'000'000, 48, 16}}},
                           {"cities", 1000, 8, ShardingType::kTableWise, 0, {{1, 0, 1000, 0, 8}}},
                           {"items",
                            10,
                            16,
                            ShardingType::kGrid,
                            4,
                            {{4, 0, 3, 0, 16}, {5, 3, 3, 0, 16}, {6, 6, 3, 0, 16}, {7, 9, 1, 0, 16}}},
                           {"days", 7, 4, ShardingType::kTableWise, 0, {{1, 0, 7, 0, 4}}}}};
  EXPECT_EQ(
      PlanToText(plan, model, 1000),
      R"(sharding plan: 8 ranks, 4 tables, 976.6 MiB of weights, 976.6 MiB of optimizer state; a step of 1,000 samples looks up 10,000 ids over all ranks

rank  tables  shards     rows x columns    weights      state  ids a step
   0       1       2  8,000,000 x 16-32  732.4 MiB  732.4 MiB       3,000
   1       3       3   4,001,007 x 4-16  244.2 MiB  244.1 MiB       5,000
 2-3       0       0                  -        0 B        0 B           0
 4-6       1       1             3 x 16      192 B      192 B         600
   7       1       1             1 x 16       64 B       64 B         200

table   sharding            rows x columns  shards
users   column_wise         4,000,000 x 64  1 of 4,000,000 x 32 on rank 0; 2 of 4,000,000 x 16 on ranks 0-1
cities  table_wise               1,000 x 8  1 of 1,000 x 8 on rank 1
items   grid (groups of 4)         10 x 16  3 of 3 x 16 on ranks 4-6; 1 of 1 x 16 on rank 7
days    table_wise                   7 x 4  1 of 7 x 4 on rank 1
)");
}

TEST(PlanText, IdsAreCountedOnceARank) {
  const std::vector<TableShape> model = {Table("t", 100, 16, 5)};
  // 4 ranks, 1,000 samples: every id on every rank, on one, or spread.
  EXPECT_THAT(PlanToText(MakePlan(PlanKind::kColumnWise, model, 4), model, 1000),
              HasSubstr("looks up 20,000 ids"));
  EXPECT_THAT(PlanToText(MakePlan(PlanKind::kTableWise, model, 4), model, 1000),
              HasSubstr("looks up 5,000 ids"));
  EXPECT_THAT(PlanToText(MakePlan(PlanKind::kRowWise, model, 4), model, 1000),
              HasSubstr("looks up 5,000 ids"));
  EXPECT_THAT(PlanToText(MakePlan(PlanKind::kDataParallel, model, 4), model, 1000),
              HasSubstr("looks up 5,000 ids"));
}

TEST(PlanText, SaysWhatIsWrongAndWhatIsUnknown) {
  const ShardingPlan plan{2, {{"t", 10, 8, ShardingType::kTableWise, 0, {{5, 0, 10, 0, 8}}}}};
  const std::string text = PlanToText(plan, {}, 100);
  EXPECT_THAT(text, HasSubstr("\n 0-1       0       0 "));
  EXPECT_THAT(text, HasSubstr("\n   5       1       1 "));
  EXPECT_THAT(text, HasSubstr("1 tables are not in the model"));
  EXPECT_THAT(text, HasSubstr("not valid: plan: table 't', rank 5: not a rank of a world of 2"));
}

TEST(PlanText, LongListsAreCutShort) {
  ShardingPlan plan{1000, {{"t", 10, 8, ShardingType::kTableWise, 0, {}}}};
  for (std::int64_t rank = 0; rank < 1000; rank += 2)
    plan.tables[0].shards.push_back({rank, 0, 1 + rank % 14, 0, 8});
  const std::string text = PlanToText(plan, {}, 1);
  EXPECT_THAT(text, HasSubstr("; … 3 more sizes\n"));
  EXPECT_THAT(text, HasSubstr("on ranks 0, 14, 28, 42, 56, 70, 84, 98, … to 994"));
}

TEST(PlanText, NeverFails) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<TableShape> model = RandomModel(random, Uniform(random, 0, 4));
    const std::string valid = PlanToText(RandomMixedPlan(random, model, Uniform(random, 1, 64)), model, i);
    EXPECT_THAT(valid, Not(HasSubstr("not valid")));
    model.push_back(Table("t\n\x1b[1mü1", 1, 1, std::numeric_limits<double>::infinity()));
    const ShardingPlan nonsense = RandomNonsense(random);
    const std::string text = PlanToText(nonsense, model, Uniform(random, -1, 1));
    EXPECT_THAT(text, HasSubstr("sharding plan: "));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_LT(text.size(), 20'000U);
  }
}

}  // namespace
}  // namespace hotrow
