#include "hotrow/data/encoded_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Each growth is of a chunk, whatever is held: nothing is copied.
TEST(EncodedSamples, GrowByChunksAndGatherAcrossThem) {
  constexpr std::int64_t kSamples = 400'000;  // of 3 dense values, so that a chunk ends within a sample's
  for (const std::int32_t fixed : {3, 0}) {
    DataDescription description;
    description.num_dense = 3;
    description.features = {{.name = "f", .rows = 1 << 30, .fixed_size = fixed}};
    std::vector<std::int64_t> growths;
    EncodedSamples samples(description, [&](std::int64_t bytes) { growths.push_back(bytes); });
    for (std::int64_t i = 0; i < kSamples; ++i) {
      samples.AddLabel(static_cast<float>(i % 2));
      for (int d = 0; d < 3; ++d) samples.AddDense(static_cast<float>(3 * i + d));
      for (int d = 0; d < 3; ++d) samples.AddId(3 * i + d);
      samples.EndBag();
      samples.EndSample();
    }
    // Labels and the ends of bags fit in a chunk, the others need two.
    EXPECT_THAT(growths, ::testing::Each(::testing::Le(std::int64_t{8} << 20)));
    EXPECT_EQ(growths.size(), fixed == 3 ? 5U : 6U);
    Batch batch;
    const std::vector<std::uint32_t> order = {399'999, 349'525, 349'526, 0};
    samples.Gather(0, 4, order, batch);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(batch.labels[i], static_cast<float>(order[i] % 2));
      for (std::size_t d = 0; d < 3; ++d) {
        EXPECT_EQ(batch.dense[3 * i + d], static_cast<float>(3 * order[i] + d));
        EXPECT_EQ(batch.sparse.values()[3 * i + d],
                  3 * static_cast<std::int64_t>(order[i]) + static_cast<std::int64_t>(d));
      }
    }
    samples.Clear();
    growths.clear();
    samples.AddLabel(1);
    EXPECT_TRUE(growths.empty()) << "the memory is kept";
  }
}

TEST(CompactIds, AskBeforeTheyWiden) {
  std::int64_t taken = 0;
  CompactIds ids([&](std::int64_t bytes) {
    if (taken > 0) Fail("{} bytes more", bytes);
    taken += bytes;
  });
  ids.Append(5);
  EXPECT_THROW(ids.Append(-1), Error);
  ids.Clear();
  ids.Append(7);
  EXPECT_EQ(ids[0], 7);
  EXPECT_EQ(ids.size(), 1U);
}

TEST(CompactIds, WidensWhenItMust) {
  CompactIds ids;
  ids.Append(5);
  ids.Append(4294967295);
  EXPECT_EQ(ids[1], 4294967295);
  ids.Append(-1);
  ids.Append(4294967296);
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(ids[0], 5);
  EXPECT_EQ(ids[1], 4294967295);
  EXPECT_EQ(ids[2], -1);
  EXPECT_EQ(ids[3], 4294967296);
  ids.Clear();
  EXPECT_EQ(ids.size(), 0U);
}

// Sample s has weight s / 2; feature 0 one id, or s of them; feature 1 one; an id's weight is its tenth.
EncodedSamples WeightedSamples(const DataDescription& description, std::int64_t count) {
  EncodedSamples samples(description);
  for (std::int64_t s = 0; s < count; ++s) {
    samples.AddLabel(1);
    if (description.weighted_samples) samples.AddSampleWeight(0.5F * static_cast<float>(s));
    const std::int64_t bag = description.features[0].fixed_size > 0 ? 1 : s;
    for (std::int64_t i = 0; i < bag; ++i) samples.AddId(10 * s + i, 0.1F * static_cast<float>(10 * s + i));
    samples.EndBag();
    samples.AddId(7);
    samples.EndBag();
    samples.EndSample();
  }
  return samples;
}

TEST(EncodedSamples, WeightsFollowTheirSamplesAndIds) {
  for (const std::int32_t fixed : {1, 0}) {
    for (const bool weighted : {false, true}) {
      DataDescription description;
      description.features = {{.name = "a", .rows = 100, .fixed_size = fixed},
                              {.name = "b", .rows = 100, .fixed_size = 1}};
      description.weighted_samples = description.weighted_ids = weighted;
      EncodedSamples samples = WeightedSamples(description, 4);
      Batch batch;
      batch.sample_weights = {9};  // of another source
      const std::vector<std::uint32_t> order = {3, 0, 2};
      samples.Gather(0, 3, order, batch);
      EXPECT_EQ(batch.sparse.is_weighted(), weighted);
      if (!weighted) {
        EXPECT_THAT(batch.sample_weights, IsEmpty());
        EXPECT_THAT(batch.sparse.weights(), IsEmpty());
        continue;
      }
      EXPECT_THAT(batch.sample_weights, ElementsAre(1.5F, 0, 1));
      const FeatureBags a = batch.sparse.feature(0);
      EXPECT_EQ(a.ids.size(), fixed == 1 ? 3U : 5U);
      ASSERT_EQ(a.weights.size(), a.ids.size());
      for (std::size_t i = 0; i < a.ids.size(); ++i) {
        EXPECT_EQ(a.weights[i], 0.1F * static_cast<float>(a.ids[i]));
      }
      EXPECT_THAT(batch.sparse.feature(1).weights, ElementsAre(1, 1, 1));
      samples.Clear();
      samples.Gather(0, 0, {}, batch);
      EXPECT_THAT(batch.sample_weights, IsEmpty());
    }
  }
}

// A reader that forgets a weight, or gives one that the data do not have, would shift all that follow.
TEST(EncodedSamples, EverySampleHasAWeightOrNone) {
  DataDescription description;
  for (const bool weighted : {false, true}) {
    description.weighted_samples = weighted;
    EncodedSamples samples(description);
    if (!weighted) samples.AddSampleWeight(1);
    EXPECT_THROW(samples.EndSample(), std::logic_error);
  }
}

}  // namespace
}  // namespace hotrow
