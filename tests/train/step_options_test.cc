// What concerns a whole step: schedule, clipping, weighted samples. The property tests compare them with the
// reference; here stands what follows from their definitions alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hotrow/base/error.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

class StepOptionsTest : public ::testing::Test {
 protected:
  StepOptionsTest() {
    source_.StartEpoch(0);
    source_.Next(40, batch_);
    config_.dense_optimizer = {.kind = OptimizerKind::kSgd, .learning_rate = 1.0F};
    SetOptimizer(config_.model.tables, config_.dense_optimizer);
  }

  std::vector<float> DenseWeights(Trainer& trainer) {
    const Parameters& parameters = trainer.tower().parameters();
    return {parameters.weights(), parameters.weights() + parameters.padded_size()};
  }

  // How far one step moves the dense weights.
  double Moved(const TrainerConfig& config) {
    Trainer trainer(config, pool_);
    const std::vector<float> before = DenseWeights(trainer);
    trainer.Step(batch_);
    const std::vector<float> after = DenseWeights(trainer);
    double squares = 0;
    for (std::size_t i = 0; i < after.size(); ++i)
      squares += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[i]), 2);
    return std::sqrt(squares);
  }

  ThreadPool pool_{2};
  SyntheticSource source_{SmallData(100)};
  TrainerConfig config_ = SmallTrainer(source_.description());
  Batch batch_;
};

TEST_F(StepOptionsTest, SgdMovesTheWeightsByTheClippedNorm) {
  const double whole = Moved(config_);
  ASSERT_GT(whole, 0.01);
  config_.clip_norm = whole / 4;
  EXPECT_NEAR(Moved(config_), whole / 4, 1e-5 * whole);
  config_.clip_norm = whole * 1.5;
  EXPECT_EQ(Moved(config_), whole);
}

TEST_F(StepOptionsTest, AScheduleThatEndsAtZeroStopsAllWeights) {
  config_.schedule = {.kind = ScheduleKind::kPoly, .decay_steps = 2};
  Trainer trainer(config_, pool_);
  const std::uint64_t first = trainer.WeightsHash();
  trainer.Step(batch_);
  const std::uint64_t second = trainer.WeightsHash();
  EXPECT_NE(second, first);
  trainer.Step(batch_);
  EXPECT_EQ(trainer.WeightsHash(), second);
}

TEST_F(StepOptionsTest, AWeightOfTwoIsASampleTwice) {
  TrainerConfig weighted = config_;
  weighted.sample_weights = true;
  Trainer trainer(weighted, pool_);
  batch_.sample_weights.assign(40, 1.0F);
  batch_.sample_weights[39] = 2.0F;
  const float loss = trainer.Step(batch_);

  Batch twice;
  twice.size = 41;
  const std::int64_t num_dense = config_.model.num_dense;
  twice.dense = batch_.dense;
  twice.dense.insert(twice.dense.end(), batch_.dense.end() - num_dense, batch_.dense.end());
  twice.labels = batch_.labels;
  twice.labels.push_back(batch_.labels.back());
  std::vector<std::int64_t> ids;
  const KeyedJaggedTensor& sparse = batch_.sparse;
  for (std::int64_t f = 0; f < sparse.num_features(); ++f) {
    const FeatureBags bags = sparse.feature(f);
    ids.insert(ids.end(), bags.ids.begin(), bags.ids.end());
    ids.insert(ids.end(), bags.ids.end() - bags.fixed_size, bags.ids.end());
  }
  twice.sparse = KeyedJaggedTensor(sparse.keys(), {sparse.fixed_sizes().begin(), sparse.fixed_sizes().end()});
  twice.sparse.ResetFixed(41);
  std::copy(ids.begin(), ids.end(), twice.sparse.mutable_values().begin());
  Trainer plain(config_, pool_);
  EXPECT_NEAR(plain.Step(twice), loss, 1e-6);
  const std::vector<float> a = DenseWeights(trainer);
  const std::vector<float> b = DenseWeights(plain);
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6) << i;
}

TEST_F(StepOptionsTest, ABatchOfNoWeightMovesNothing) {
  config_.sample_weights = true;
  Trainer trainer(config_, pool_);
  const std::uint64_t before = trainer.WeightsHash();
  batch_.sample_weights.assign(40, 0.0F);
  EXPECT_EQ(trainer.Step(batch_), 0.0F);
  EXPECT_EQ(trainer.WeightsHash(), before);
}

TEST_F(StepOptionsTest, AClipNormIsFiniteAndNotBelowZero) {
  for (const double norm : {-1.0, std::nan(""), HUGE_VAL}) {
    config_.clip_norm = norm;
    EXPECT_THAT([&] { Trainer(config_, pool_); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("clip_norm")));
  }
}

}  // namespace
}  // namespace hotrow
