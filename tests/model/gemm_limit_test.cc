#include "hotrow/model/gemm_limit.h"

#include <gtest/gtest.h>

#include "hotrow/model/dlrm.h"
#include "tests/model/tower_case.h"

namespace hotrow {
namespace {

UnitGradients MakeGradients(const ModelConfig& config, std::int64_t units) {
  return {DlrmTower(config).parameters().padded_size(), units};
}

TEST(GemmLimitTest, CountsTheOperationsOfTheModel) {
  ModelConfig config = test::SmallModel(Interaction::kCross, 26, 128);
  const ModelConfig defaults;
  config.dense_arch = defaults.dense_arch;
  config.over_arch = defaults.over_arch;
  config.dcn_num_layers = defaults.dcn_num_layers;
  config.dcn_low_rank = defaults.dcn_low_rank;
  ThreadPool pool(1);
  UnitGradients gradients = MakeGradients(config, 8);
  GemmLimit limit(config, 1000, 8, gradients, pool);
  EXPECT_NEAR(limit.flop(), 96.2e6 * 1000, 0.2e6 * 1000);
}

TEST(GemmLimitTest, RunsAnyBatch) {
  for (const Interaction interaction : {Interaction::kCross, Interaction::kDot}) {
    for (const std::int64_t batch : {3, 64, 1500}) {
      ThreadPool pool(2);
      const ModelConfig config = test::SmallModel(interaction, 3, 8);
      UnitGradients gradients = MakeGradients(config, 2);
      GemmLimit limit(config, batch, 2, gradients, pool);
      limit.RunOnce();
      EXPECT_GT(limit.RunOnce(), 0.0);
      EXPECT_EQ(limit.batch(), batch);
    }
  }
}

TEST(GemmLimitTest, ReportsEveryKindOfProductOnce) {
  ThreadPool pool(2);
  ModelConfig config = test::SmallModel(Interaction::kCross, 3, 8);
  UnitGradients gradients = MakeGradients(config, 8);
  GemmLimit limit(config, 64, 8, gradients, pool);
  const std::vector<GemmReport> reports = limit.Report(1e-4);
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
  EXPECT_GT(MeasureGemmLimit(config, 64, 8, pool, 1e-3), 0.0);
}

}  // namespace
}  // namespace hotrow
