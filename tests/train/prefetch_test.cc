#include "hotrow/train/prefetch.h"

#include <gtest/gtest.h>

#include <vector>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

// Counts 0 … samples - 1 into `dense`; throws where told to.
class CountingSource final : public BatchSource {
 public:
  explicit CountingSource(std::int64_t samples, std::int64_t throw_at = -1)
      : samples_(samples), throw_at_(throw_at) {}
  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override {
    epoch_ = epoch;
    next_ = 0;
  }
  bool Next(std::int64_t max_samples, Batch& batch) override {
    batch.dense.clear();
    batch.first_sample = next_;
    while (next_ < samples_ && std::ssize(batch.dense) < max_samples) {
      if (next_ == throw_at_) Fail("sample {} is broken", next_);
      batch.dense.push_back(static_cast<float>(1000 * epoch_ + next_++));
    }
    batch.size = std::ssize(batch.dense);
    return batch.size > 0;
  }

 private:
  DataDescription description_;
  std::int64_t samples_;
  std::int64_t throw_at_;
  std::int64_t epoch_ = 0;
  std::int64_t next_ = 0;
};

std::vector<float> Drain(BatchSource& source, std::int64_t batch_size) {
  std::vector<float> all;
  Batch batch;
  while (source.Next(batch_size, batch)) all.insert(all.end(), batch.dense.begin(), batch.dense.end());
  return all;
}

TEST(Prefetch, GivesTheInnerSourcesBatchesInOrder) {
  for (const std::int64_t samples : {0, 1, 3, 4, 5, 17}) {
    CountingSource inner(samples);
    PrefetchingSource source(inner);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      source.StartEpoch(epoch);
      std::vector<float> want;
      for (std::int64_t i = 0; i < samples; ++i) want.push_back(static_cast<float>(1000 * epoch + i));
      EXPECT_EQ(Drain(source, 4), want);
      Batch batch;
      EXPECT_FALSE(source.Next(4, batch)) << "the end stays the end";
      EXPECT_EQ(batch.size, 0);
    }
  }
}

TEST(Prefetch, RestartsInTheMiddleOfAnEpoch) {
  CountingSource inner(20);
  PrefetchingSource source(inner);
  source.StartEpoch(0);
  Batch batch;
  ASSERT_TRUE(source.Next(3, batch));
  source.StartEpoch(1);
  EXPECT_EQ(Drain(source, 3).size(), 20U);
}

TEST(Prefetch, SeeksWithABatchAhead) {
  CountingSource inner(20);
  PrefetchingSource source(inner);
  source.StartEpoch(0);
  Batch batch;
  ASSERT_TRUE(source.Next(3, batch));
  source.Seek(1, 5, 3);
  EXPECT_EQ(Drain(source, 3), (std::vector<float>{1015, 1016, 1017, 1018, 1019}));
  source.Seek(1, 7, 3);
  EXPECT_FALSE(source.Next(3, batch));
}

TEST(Prefetch, AnErrorComesWithItsOwnBatch) {
  CountingSource inner(20, 9);
  PrefetchingSource source(inner);
  source.StartEpoch(0);
  Batch batch;
  EXPECT_TRUE(source.Next(4, batch));
  EXPECT_TRUE(source.Next(4, batch)) << "batch 2 holds sample 9; batch 1 must still come";
  EXPECT_THROW(source.Next(4, batch), Error);
}

TEST(Prefetch, MayBeDroppedWhileABatchIsAhead) {
  CountingSource inner(1000);
  PrefetchingSource source(inner);
  source.StartEpoch(0);
  Batch batch;
  EXPECT_TRUE(source.Next(1, batch));
}

}  // namespace
}  // namespace hotrow
