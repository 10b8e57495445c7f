#include "hotrow/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hotrow/base/error.h"
#include "tests/support/allocation_counter.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

class TrainerTest : public ::testing::Test {
 protected:
  Batch NextBatch(std::int64_t samples) {
    Batch batch;
    if (!source_.Next(samples, batch)) throw std::logic_error("no data");
    return batch;
  }
  ThreadPool pool_{2};
  SyntheticSource source_{SmallData(std::nullopt)};
  TrainerConfig config_ = SmallTrainer(source_.description());
};

TEST_F(TrainerTest, TheFirstLossIsNearChance) {
  Trainer trainer(config_, pool_);
  Batch batch = NextBatch(512);
  EXPECT_NEAR(trainer.Step(batch), std::log(2.0), 0.1);
}

TEST_F(TrainerTest, PredictsWhatAStepStartsFrom) {
  Trainer trainer(config_, pool_);
  for (const std::int64_t samples : {1, 2, 7, 8, 9, 100, 513}) {
    Batch batch = NextBatch(samples);
    std::vector<float> predicted(static_cast<std::size_t>(samples));
    trainer.Predict(batch, predicted);
    trainer.Step(batch);
    ASSERT_EQ(std::ssize(trainer.last_logits()), samples);
    for (std::size_t i = 0; i < predicted.size(); ++i) EXPECT_EQ(trainer.last_logits()[i], predicted[i]);
  }
}

TEST_F(TrainerTest, PredictionChangesNothing) {
  config_.storage = StorageKind::kLazy;
  Trainer trainer(config_, pool_);
  Batch batch = NextBatch(64);
  trainer.Step(batch);
  const std::uint64_t weights = trainer.WeightsHash();
  const std::int64_t resident = trainer.embeddings().ResidentBytes();
  std::vector<float> logits(300);
  Batch other = NextBatch(300);
  trainer.Predict(other, logits);
  EXPECT_EQ(trainer.WeightsHash(), weights);
  EXPECT_EQ(trainer.embeddings().ResidentBytes(), resident);
}

TEST_F(TrainerTest, ABadIdChangesNothingAndNamesItself) {
  Trainer trainer(config_, pool_);
  Batch batch = NextBatch(16);
  batch.first_sample = 1000;
  batch.sparse.mutable_values()[16 * 2 + 5] = 3;  // feature 1 has rows 0, 1, 2
  const std::uint64_t weights = trainer.WeightsHash();
  try {
    trainer.Step(batch);
    FAIL() << "no error";
  } catch (const Error& e) {
    for (const char* part : {"f1", "1005", "3"}) EXPECT_THAT(e.what(), ::testing::HasSubstr(part));
  }
  EXPECT_EQ(trainer.WeightsHash(), weights);
  EXPECT_EQ(trainer.steps(), 0);
}

TEST_F(TrainerTest, SkippedAndWrappedIdsAreCounted) {
  for (const BadIds mode : {BadIds::kSkip, BadIds::kWrap}) {
    config_.bad_ids = mode;
    Trainer trainer(config_, pool_);
    Batch batch = NextBatch(16);
    batch.sparse.mutable_values()[0] = -5;
    batch.sparse.mutable_values()[16 * 2] = 99;
    EXPECT_TRUE(std::isfinite(trainer.Step(batch)));
    EXPECT_EQ(trainer.bad_ids(), 2);
  }
}

TEST_F(TrainerTest, RefusesReductionUnitsThatAreNoPowerOfTwo) {
  for (const std::int64_t units : {0, -8, 3, 12}) {
    config_.reduction_units = units;
    EXPECT_THROW(Trainer(config_, pool_), Error) << units;
  }
}

TEST_F(TrainerTest, MoreUnitsThanSamplesIsFine) {
  config_.reduction_units = 64;
  Trainer trainer(config_, pool_);
  Batch batch = NextBatch(3);
  EXPECT_TRUE(std::isfinite(trainer.Step(batch)));
}

// Once a step has seen its largest batch, only lists of a few hundred bytes are allocated, whichever thread
// takes which unit.
TEST_F(TrainerTest, TheSteadyStateAllocatesNothing) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (const StorageKind storage : {StorageKind::kEager, StorageKind::kLazy}) {
      SCOPED_TRACE(threads);
      config_.storage = storage;
      Trainer trainer(config_, pool);
      std::vector<Batch> batches;
      for (int i = 0; i < 12; ++i) batches.push_back(NextBatch(2044));  // units of 256 and of 255
      for (int i = 0; i < 6; ++i) trainer.Step(batches[static_cast<std::size_t>(i)]);
      const std::int64_t before = LargeAllocations();
      const std::int64_t mapped = Mappings();
      for (int i = 6; i < 12; ++i) trainer.Step(batches[static_cast<std::size_t>(i)]);
      EXPECT_EQ(LargeAllocations(), before);
      EXPECT_EQ(Mappings(), mapped);
    }
  }
}

// A thread that gets no unit of the first step makes no product at a later one.
TEST_F(TrainerTest, AllThreadsMakeTheirProductsAtTheFirstStep) {
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    ThreadPool pool(threads);
    Trainer trainer(config_, pool);
    Batch one = NextBatch(1);  // seven of eight units are empty
    trainer.Step(one);
    const std::int64_t made = trainer.products_made();
    ThreadPool sole(1);
    Trainer alone(config_, sole);
    alone.Step(one);
    EXPECT_GT(made, 0);
    EXPECT_EQ(made, threads * alone.products_made());
    for (const std::int64_t samples : {8, 1, 5}) {  // units of one row, on any thread
      Batch batch = NextBatch(samples);
      trainer.Step(batch);
      EXPECT_EQ(trainer.products_made(), made) << samples;
    }
    std::vector<float> logits(8);
    Batch batch = NextBatch(8);
    trainer.Predict(batch, logits);
    EXPECT_EQ(trainer.products_made(), made) << "prediction runs the same forward";
  }
}

}  // namespace
}  // namespace hotrow
