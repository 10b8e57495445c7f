#include "hotrow/measure/gemm_limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/tower_case.h"

namespace hotrow {
namespace {

// A limit with what it borrows.
struct LimitCase {
  LimitCase(const ModelConfig& config, std::int64_t batch, std::int64_t units, int threads)
      : pool(threads),
        tower(MakeTower(config, 0, pool)),
        gradients(tower->parameters().padded_size(), units),
        limit(*tower, GemmLimit::MakeLayers(*tower), batch, units, gradients, pool) {}
  ThreadPool pool;
  std::unique_ptr<Tower> tower;
  UnitGradients gradients;
  GemmLimit limit;
};

TEST(GemmLimitTest, CountsTheOperationsOfTheModel) {
  ModelConfig config = test::SmallModel(Interaction::kCross, 26, 128);
  const ModelConfig defaults;
  config.dense_arch = defaults.dense_arch;
  config.over_arch = defaults.over_arch;
  config.dcn_num_layers = defaults.dcn_num_layers;
  config.dcn_low_rank = defaults.dcn_low_rank;
  EXPECT_NEAR(LimitCase(config, 1000, 8, 1).limit.flop(), 96.2e6 * 1000, 0.2e6 * 1000);
}

// Every pass multiplies the same operands, so a unit's gradient of a weight is the number of its
// micro-batches times that of one, and nothing where it has no rows.
TEST(GemmLimitTest, RunsEveryMicroBatchOfEveryUnit) {
  for (const Interaction interaction : {Interaction::kCross, Interaction::kDot}) {
    const ModelConfig config = test::SmallModel(interaction, 3, 8);
    ThreadPool pool(1);
    const std::int64_t micro_batch = MakeTower(config, 0, pool)->micro_batch();
    LimitCase one(config, 2 * micro_batch, 2, 2);
    LimitCase three(config, 6 * micro_batch, 2, 2);
    one.limit.RunOnce();
    three.limit.RunOnce();
    three.limit.RunOnce();  // begins anew
    for (const Linear* layer : one.tower->linears()) {
      const Parameter& p = one.tower->parameters().list()[static_cast<std::size_t>(layer->spec().weight)];
      for (std::int64_t unit = 0; unit < 2; ++unit) {
        const float once = one.gradients.at(unit)[static_cast<std::size_t>(p.offset)];
        EXPECT_NE(once, 0.0F) << p.name;
        EXPECT_NEAR(three.gradients.at(unit)[static_cast<std::size_t>(p.offset)], 3 * once,
                    1e-4 * std::abs(once))
            << p.name;
      }
    }
  }
}

TEST(GemmLimitTest, RunsUnitsOfOneRowAndOfNone) {
  LimitCase c(test::SmallModel(Interaction::kCross, 3, 8), 3, 4, 2);
  const auto first = static_cast<std::size_t>(c.tower->parameters().list()[0].offset);
  c.limit.RunOnce();
  for (std::int64_t unit = 0; unit < 4; ++unit) EXPECT_EQ(c.gradients.at(unit)[first] != 0.0F, unit < 3);
}

TEST(GemmLimitTest, ReportsEveryKindOfProductOnce) {
  LimitCase c(test::SmallModel(Interaction::kCross, 3, 8), 64, 8, 2);
  const std::vector<GemmReport> reports = c.limit.Report(1e-4);
  // Two dense layers (the first without dx), V and W once for both cross layers, two over layers.
  EXPECT_EQ(reports.size(), 2U + 3 + 3 + 3 + 3 + 3);
  for (const GemmReport& report : reports) {
    EXPECT_GT(report.gflops, 0.0) << report.name;
    EXPECT_FALSE(report.implementation.empty()) << report.name;
  }
  EXPECT_EQ(reports[0].name, "dense_arch.model._mlp.0._linear.weight y");
  EXPECT_EQ(reports[0].m, 8);
  EXPECT_EQ(reports[0].n, 24);
  EXPECT_EQ(reports[0].k, 32);
}

}  // namespace
}  // namespace hotrow
