#include "hotrow/train/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "hotrow/base/error.h"
#include "hotrow/train/rank_source.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;

class LoopTest : public ::testing::Test {
 protected:
  ThreadPool pool_{2};
  SyntheticSource source_{SmallData(100)};
  SyntheticSource eval_{SmallData(40, 8)};
  Trainer trainer_{SmallTrainer(source_.description()), pool_};
};

TEST_F(LoopTest, TrainsEveryEpochWithAShortLastBatch) {
  const LoopResult result = TrainLoop(trainer_, source_, nullptr, {.epochs = 3, .batch_size = 32}, {});
  EXPECT_EQ(result.steps, 3 * 4);
  EXPECT_EQ(result.samples, 300);
  EXPECT_EQ(result.losses.size(), 12U);
  EXPECT_EQ(trainer_.steps(), 12);
  EXPECT_TRUE(result.evaluations.empty());
  EXPECT_EQ(result.reason, StopReason::kDone);
  EXPECT_LT(result.losses.back(), result.losses.front()) << "an epoch that repeats can be learnt by heart";
}

TEST_F(LoopTest, EvaluatesWhereAsked) {
  const auto epochs_of = [&](const LoopConfig& config) {
    std::vector<double> epochs;
    for (const EvaluationPoint& point : TrainLoop(trainer_, source_, &eval_, config, {}).evaluations) {
      epochs.push_back(point.epoch);
      EXPECT_EQ(point.result.samples, 40);
    }
    return epochs;
  };
  EXPECT_THAT(epochs_of({.epochs = 2, .batch_size = 50, .eval_every = 1}), ::testing::ElementsAre(1.0, 2.0));
  EXPECT_THAT(epochs_of({.epochs = 2, .batch_size = 50, .eval_every = 0.5}),
              ::testing::ElementsAre(0.5, 1.0, 1.5, 2.0));
  EXPECT_THAT(epochs_of({.epochs = 2, .batch_size = 50, .eval_every = 0}), ::testing::ElementsAre(2.0));
  EXPECT_THAT(epochs_of({.epochs = 2, .batch_size = 50, .eval_every = 0.1}),
              ::testing::ElementsAre(0.5, 1.0, 1.5, 2.0))
      << "at most once a step";
}

TEST_F(LoopTest, EvaluatesAfterEveryStepWhenAskedForMoreOften) {
  for (const double every : {0.01, 1e-9, 1e-18, std::numeric_limits<double>::denorm_min()}) {
    const LoopResult result =
        TrainLoop(trainer_, source_, &eval_, {.epochs = 2, .batch_size = 25, .eval_every = every}, {});
    ASSERT_EQ(result.evaluations.size(), 8U) << every;
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(result.evaluations[i].step, static_cast<std::int64_t>(i) + 1) << every;
    }
  }
}

// Whichever way their quotients are rounded.
TEST_F(LoopTest, EvaluatesAtMultiplesOverManyEpochs) {
  const LoopResult result =
      TrainLoop(trainer_, source_, &eval_, {.epochs = 30, .batch_size = 10, .eval_every = 0.3}, {});
  ASSERT_EQ(result.evaluations.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(result.evaluations[i].step, 3 * (static_cast<std::int64_t>(i) + 1));
  }
}

TEST_F(LoopTest, StopsAtTheAucTargetAndAtMaxSteps) {
  const LoopResult target =
      TrainLoop(trainer_, source_, &eval_, {.epochs = 5, .batch_size = 50, .auc_target = 1e-9}, {});
  EXPECT_EQ(target.reason, StopReason::kAucTarget);
  EXPECT_EQ(target.steps, 2);
  const LoopResult bounded =
      TrainLoop(trainer_, source_, nullptr, {.epochs = 5, .batch_size = 10, .max_steps = 7}, {});
  EXPECT_EQ(bounded.reason, StopReason::kMaxSteps);
  EXPECT_EQ(bounded.steps, 7);
}

// Streamed data tells no number of samples, so epochs only count as trained when they end. Tells which thread
// read last.
class Streamed final : public BatchSource {
 public:
  explicit Streamed(BatchSource& inner) : inner_(inner), description_(inner.description()) {
    description_.samples.reset();
  }
  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override { inner_.StartEpoch(epoch); }
  bool Next(std::int64_t max_samples, Batch& batch) override {
    reader_ = std::this_thread::get_id();
    return inner_.Next(max_samples, batch);
  }
  std::thread::id reader() const { return reader_; }

 private:
  BatchSource& inner_;
  DataDescription description_;
  std::thread::id reader_;
};

TEST_F(LoopTest, TheLastEvaluationIsOfTheLastWeights) {
  Streamed source(source_);
  const LoopResult result = TrainLoop(
      trainer_, source, &eval_, {.epochs = 3, .batch_size = 25, .auc_target = 0.999999, .max_steps = 6}, {});
  ASSERT_EQ(result.evaluations.size(), 2U);
  EXPECT_EQ(result.evaluations[0].step, 4);
  EXPECT_EQ(result.evaluations[1].step, 6);
  EXPECT_EQ(result.reason, StopReason::kMaxSteps);
}

TEST_F(LoopTest, StopsWhenInterrupted) {
  const std::atomic<bool> interrupted{true};
  const LoopResult result =
      TrainLoop(trainer_, source_, nullptr, {.epochs = 5, .batch_size = 10}, {.interrupted = &interrupted});
  EXPECT_EQ(result.reason, StopReason::kInterrupted);
  EXPECT_EQ(result.steps, 1);
}

TEST_F(LoopTest, ReportsProgress) {
  std::vector<Progress> reports;
  TrainLoop(trainer_, source_, nullptr, {.epochs = 1, .batch_size = 10, .progress_seconds = 0},
            {.on_progress = [&](const Progress& p) { reports.push_back(p); }});
  ASSERT_EQ(reports.size(), 10U);
  EXPECT_EQ(reports[4].epoch_samples, 50);
  EXPECT_EQ(reports[4].total_samples, 100);
  EXPECT_GT(reports[4].samples_per_s.value(), 0);
}

TEST_F(LoopTest, TheTimeLeftIsToTheNearestEnd) {
  const auto left = [&](BatchSource& source, std::int64_t max_steps) {
    std::vector<std::optional<double>> seconds;
    TrainLoop(trainer_, source, nullptr,
              {.epochs = 1, .batch_size = 10, .max_steps = max_steps, .progress_seconds = 0},
              {.on_progress = [&](const Progress& p) { seconds.push_back(p.seconds_left); }});
    return seconds;
  };
  Streamed streamed(source_);
  for (BatchSource* source : std::vector<BatchSource*>{&source_, &streamed}) {
    const auto bounded = left(*source, 4);
    ASSERT_EQ(bounded.size(), 4U);
    EXPECT_GT(bounded[1].value(), 0);
    EXPECT_EQ(bounded[3].value(), 0);
  }
  EXPECT_EQ(left(source_, 1000).back().value(), 0);
  EXPECT_FALSE(left(streamed, 0).back());
}

TEST_F(LoopTest, RefusesABatchLargerThanTheData) {
  try {
    TrainLoop(trainer_, source_, nullptr, {.epochs = 1, .batch_size = 101}, {});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("101"));
    EXPECT_THAT(e.what(), HasSubstr("100 samples"));
  }
}

TEST_F(LoopTest, RefusesABatchLargerThanDataOfUnknownSizeBeforeAStep) {
  Streamed source(source_);
  EXPECT_THAT([&] { TrainLoop(trainer_, source, nullptr, {.batch_size = 101, .max_steps = 1}, {}); },
              ::testing::ThrowsMessage<Error>("batch size: 101 is more than the data's 100 samples"));
  EXPECT_EQ(trainer_.steps(), 0);
  EXPECT_EQ(TrainLoop(trainer_, source, nullptr, {.batch_size = 100}, {}).steps, 1);
}

TEST_F(LoopTest, RefusesSettingsThatCannotBe) {
  const auto refuses = [&](LoopConfig config, BatchSource* eval_source, const char* what) {
    config.epochs = 1;
    config.batch_size = 10;
    try {
      TrainLoop(trainer_, source_, eval_source, config, {});
      FAIL() << what;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(what));
    }
  };
  refuses({.eval_every = std::nan("")}, &eval_, "eval every: nan");
  refuses({.eval_every = std::numeric_limits<double>::infinity()}, &eval_, "eval every: inf");
  refuses({.auc_target = 2}, &eval_, "AUC target: 2");
  refuses({.auc_target = std::nan("")}, &eval_, "AUC target: nan");
  refuses({.auc_target = 0.7}, nullptr, "needs data to evaluate on");
  refuses({.max_steps = -1}, &eval_, "max steps: -1");
}

TEST_F(LoopTest, ALossThatIsNoNumberIsAnErrorNamingTheStep) {
  Parameters& parameters = trainer_.tower().parameters();
  const auto bias =
      static_cast<std::int64_t>(parameters.list().size()) - 1;  // of the logit: no ReLU hides it
  *parameters.weights(bias) = std::numeric_limits<float>::quiet_NaN();
  trainer_.tower().Pack(pool_);
  try {
    TrainLoop(trainer_, source_, nullptr, {.epochs = 1, .batch_size = 10}, {});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("step 1"));
  }
}

// A gradient of 0 is divided by the root of 0 then.
TEST_F(LoopTest, AnEpsOfZeroIsNamedWithALossThatIsNoNumber) {
  TrainerConfig config = trainer_.config();
  config.dense_optimizer.eps = 0.0F;
  SetOptimizer(config.model.tables, config.dense_optimizer);
  Trainer trainer(config, pool_);
  EXPECT_THAT([&] { TrainLoop(trainer, source_, nullptr, {.epochs = 2, .batch_size = 10}, {}); },
              ::testing::ThrowsMessage<Error>(HasSubstr("try a lower learning rate, or an eps above 0")));
}

TEST_F(LoopTest, PrefetchingChangesNoBit) {
  Trainer plain(SmallTrainer(source_.description()), pool_);
  std::vector<float> losses;
  Batch batch;
  for (int epoch = 0; epoch < 2; ++epoch) {
    source_.StartEpoch(epoch);
    while (source_.Next(30, batch)) losses.push_back(plain.Step(batch));
  }
  for (const bool pipeline : {true, false}) {
    Trainer trainer(trainer_.config(), pool_);
    Streamed read(source_);
    LoopResult looped;
    {
      RankSource ahead(read, trainer.config().reduction_units, trainer.comm());
      looped = TrainLoop(trainer, ahead, nullptr, {.epochs = 2, .batch_size = 30, .pipeline = pipeline}, {});
    }
    EXPECT_NE(read.reader(), std::this_thread::get_id()) << "nothing was read ahead";
    EXPECT_EQ(looped.losses, losses);
    EXPECT_EQ(trainer.WeightsHash(), plain.WeightsHash());
    EXPECT_EQ(trainer.StateHash(), plain.StateHash());
  }
}

}  // namespace
}  // namespace hotrow
