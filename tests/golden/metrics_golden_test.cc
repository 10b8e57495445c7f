#include <gtest/gtest.h>

#include <vector>

#include "hotrow/data/metrics.h"
#include "tests/golden/golden_files.h"

namespace hotrow::golden {
namespace {

TEST(GoldenMetrics, Auc) {
  for (const std::string& path : Files(Kind::kAuc)) {
    SafetensorsReader file(path);
    const std::vector<std::int32_t> labels = file.ReadI32("labels");
    const double auc = RocAuc(file.ReadF32("scores"), std::vector<float>(labels.begin(), labels.end()));
    EXPECT_NEAR(auc, file.ReadF64("auc").at(0), 1e-12) << path;
  }
}

TEST(GoldenMetrics, LogLossOfATrainingStep) {
  for (const std::string& path : Files(Kind::kTrainingRun)) {
    for (const TrainingRun::Step& step : ReadTrainingRun(path).steps) {
      EXPECT_NEAR(LogLoss(step.logits, step.batch.labels), step.loss, 1e-6) << path;
    }
  }
}

}  // namespace
}  // namespace hotrow::golden
