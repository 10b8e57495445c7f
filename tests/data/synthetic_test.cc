#include "hotrow/data/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

SyntheticConfig SmallConfig() {
  SyntheticConfig config;
  config.rows = {100, 7, 1, 1'000'000'000'000};
  config.bag_sizes = {3, 0, 1, 4};
  config.num_dense = 6;
  config.seed = 42;
  return config;
}

std::vector<std::int64_t> IdsOfSample(const Batch& batch, std::int64_t sample) {
  std::vector<std::int64_t> ids;
  for (std::int64_t f = 0; f < batch.sparse.num_features(); ++f) {
    const FeatureBags bags = batch.sparse.feature(f);
    for (std::int64_t i = bags.begin(sample); i < bags.end(sample); ++i) {
      ids.push_back(bags.ids[static_cast<std::size_t>(i)]);
    }
  }
  return ids;
}

TEST(SyntheticSource, AnySliceOfAStepHasTheSameSamples) {
  for (const char* ids : {"uniform", "zipf:1.2"}) {
    SyntheticConfig config = SmallConfig();
    config.ids = ParseIdDistribution(ids);
    const SyntheticSource source(config);
    Batch whole;
    source.Fill(5, 1000, 40, whole);
    Batch part;
    for (std::int64_t first = 0; first < 40; first += 7) {
      const std::int64_t count = std::min<std::int64_t>(7, 40 - first);
      source.Fill(5, 1000 + first, count, part);
      for (std::int64_t s = 0; s < count; ++s) {
        EXPECT_EQ(IdsOfSample(part, s), IdsOfSample(whole, first + s));
        EXPECT_EQ(part.labels[static_cast<std::size_t>(s)],
                  whole.labels[static_cast<std::size_t>(first + s)]);
        for (std::int64_t d = 0; d < 6; ++d) {
          EXPECT_EQ(part.dense[static_cast<std::size_t>(s * 6 + d)],
                    whole.dense[static_cast<std::size_t>((first + s) * 6 + d)]);
        }
      }
    }
  }
}

TEST(SyntheticSource, ThreadsDoNotChangeTheBatch) {
  ThreadPool pool(3);
  const SyntheticSource threaded(SmallConfig(), &pool);
  const SyntheticSource plain(SmallConfig());
  Batch a;
  Batch b;
  threaded.Fill(1, 0, 1000, a);
  plain.Fill(1, 0, 1000, b);
  EXPECT_TRUE(std::ranges::equal(a.sparse.values(), b.sparse.values()));
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.labels, b.labels);
}

TEST(SyntheticSource, IdsAreFreshEachStepAndInRange) {
  SyntheticSource source(SmallConfig());
  source.StartEpoch(0);
  Batch first;
  Batch second;
  ASSERT_TRUE(source.Next(64, first));
  ASSERT_TRUE(source.Next(64, second));
  EXPECT_EQ(second.first_sample, 64);
  EXPECT_FALSE(std::ranges::equal(first.sparse.values(), second.sparse.values()));
  EXPECT_EQ(CheckIds(first.sparse, SmallConfig().rows, BadIds::kError, 0), 0);
  EXPECT_EQ(CheckIds(second.sparse, SmallConfig().rows, BadIds::kError, 0), 0);
  for (const float x : first.dense) EXPECT_TRUE(x >= 0.0F && x < 1.0F);
  for (const float y : first.labels) EXPECT_TRUE(y == 0.0F || y == 1.0F);
  // seed + 1 + step is what counts: the next seed's step is this seed's step after.
  SyntheticConfig next = SmallConfig();
  next.seed = 43;
  Batch shifted;
  SyntheticSource(next).Fill(0, 64, 64, shifted);
  EXPECT_TRUE(std::ranges::equal(shifted.sparse.values(), second.sparse.values()));
  EXPECT_NE(shifted.dense, second.dense);
}

TEST(SyntheticSource, EpochEndsShortAndRepeats) {
  SyntheticConfig config = SmallConfig();
  config.samples = 10;
  SyntheticSource source(config);
  EXPECT_EQ(source.description().samples, 10);
  Batch batch;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> first_ids;
  while (source.Next(4, batch)) {
    sizes.push_back(batch.size);
    if (sizes.size() == 1) first_ids = IdsOfSample(batch, 0);
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(4, 4, 2));
  EXPECT_EQ(batch.size, 0);
  EXPECT_TRUE(batch.labels.empty());
  source.StartEpoch(1);
  ASSERT_TRUE(source.Next(4, batch));
  EXPECT_EQ(IdsOfSample(batch, 0), first_ids);
}

// Its ids are the step's, so that a batch's number counts, not only its first sample.
TEST(SyntheticSource, SeekGivesTheBatchesOfReadingFromTheStart) {
  for (const bool endless : {false, true}) {
    SyntheticConfig config = SmallConfig();
    if (!endless) config.samples = 10;
    SyntheticSource read(config);
    SyntheticSource sought(config);
    for (const std::int64_t batches : {2, 0, 1, 3, 7}) {
      Batch want;
      Batch got;
      read.StartEpoch(0);
      for (std::int64_t i = 0; i < batches; ++i) read.Next(4, want);
      sought.Seek(0, batches, 4);
      const bool more = read.Next(4, want);
      EXPECT_EQ(more, endless || batches < 3);
      EXPECT_EQ(sought.Next(4, got), more) << batches;
      EXPECT_EQ(got.first_sample, want.first_sample);
      EXPECT_EQ(got.dense, want.dense);
      EXPECT_TRUE(std::ranges::equal(got.sparse.values(), want.sparse.values()));
    }
  }
}

TEST(SyntheticSource, UniformIdsCoverTheTableEvenly) {
  SyntheticConfig config;
  config.rows = {10};
  config.bag_sizes = {5};
  Batch batch;
  SyntheticSource(config).Fill(0, 0, 20'000, batch);
  std::vector<double> counts(10);
  for (const std::int64_t id : batch.sparse.values()) counts[static_cast<std::size_t>(id)] += 1.0;
  double chi2 = 0.0;
  for (const double c : counts) chi2 += (c - 10'000.0) * (c - 10'000.0) / 10'000.0;
  EXPECT_LT(chi2, 30.0);  // 9 degrees of freedom: above 30 once in 2,000
}

TEST(SyntheticSource, ZipfFollowsTheFormula) {
  for (const double alpha : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    SyntheticConfig config;
    constexpr std::int64_t kRows = 1000;
    config.rows = {kRows};
    config.bag_sizes = {8};
    config.ids.zipf_alpha = alpha;
    Batch batch;
    SyntheticSource(config).Fill(0, 0, 25'000, batch);
    // P(row < r) is the u that the inverse CDF maps to r + 1.
    for (const std::int64_t r : {1, 2, 5, 30, 200, 900}) {
      const auto x = static_cast<double>(r + 1);
      const double expected = alpha == 1.0
                                  ? std::log(x) / std::log(double{kRows})
                                  : (std::pow(x, 1 - alpha) - 1) / (std::pow(double{kRows}, 1 - alpha) - 1);
      const auto below =
          std::ranges::count_if(batch.sparse.values(), [&](std::int64_t id) { return id < r; });
      EXPECT_NEAR(static_cast<double>(below) / 200'000.0, expected, 0.005)
          << "alpha " << alpha << " row " << r;
    }
  }
}

TEST(SyntheticSource, ZipfOfOneRowIsRowZero) {
  SyntheticConfig config;
  config.rows = {1};
  config.bag_sizes = {3};
  config.ids.zipf_alpha = 1.5;
  Batch batch;
  SyntheticSource(config).Fill(0, 0, 100, batch);
  EXPECT_THAT(batch.sparse.values(), Each(0));
}

TEST(SyntheticSource, ErrorsNameTheFeature) {
  SyntheticConfig config = SmallConfig();
  config.rows[1] = 0;
  EXPECT_THAT([&] { SyntheticSource{config}; },
              ThrowsMessage<Error>("feature 'f1': 0 rows; at least 1 is needed"));
  config = SmallConfig();
  config.bag_sizes[3] = -1;
  EXPECT_THAT([&] { SyntheticSource{config}; },
              ThrowsMessage<Error>("feature 'f3': -1 ids a sample; valid are 0 to 131072"));
}

TEST(ParseIdDistribution, AcceptsUniformAndZipf) {
  EXPECT_FALSE(ParseIdDistribution("uniform").zipf_alpha);
  EXPECT_EQ(ParseIdDistribution("zipf:1.05").zipf_alpha, 1.05);
  EXPECT_EQ(ToString(ParseIdDistribution("zipf:1.05")), "zipf:1.05");
  EXPECT_EQ(ToString(ParseIdDistribution("uniform")), "uniform");
  for (const char* bad : {"", "zipf", "zipf:", "zipf:x", "zipf:1.0x", "zipf:-1", "zipf:nan", "gauss"}) {
    EXPECT_THAT([&] { ParseIdDistribution(bad); },
                ThrowsMessage<Error>(HasSubstr("neither uniform nor zipf:ALPHA")));
  }
}

}  // namespace
}  // namespace hotrow
