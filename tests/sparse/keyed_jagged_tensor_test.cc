#include "hotrow/sparse/keyed_jagged_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

KeyedJaggedTensor SmallJagged() {
  KeyedJaggedTensor kjt({"a", "b"});
  const std::vector<std::int32_t> lengths = {2, 0, 1, 0, 3, 0};
  const std::vector<std::int64_t> values = {5, 6, 7, 1, 2, 3};
  kjt.ResetJagged(3, lengths, values);
  return kjt;
}

TEST(KeyedJaggedTensor, FixedBagsLieFeatureAfterFeature) {
  KeyedJaggedTensor kjt({"a", "empty", "b"}, {2, 0, 1});
  kjt.ResetFixed(3);
  ASSERT_EQ(kjt.values().size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) kjt.mutable_values()[i] = static_cast<std::int64_t>(i);
  EXPECT_TRUE(kjt.is_fixed());
  EXPECT_TRUE(kjt.lengths().empty());
  EXPECT_THAT(kjt.feature(0).ids, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(kjt.feature(0).begin(2), 4);
  EXPECT_EQ(kjt.feature(0).end(2), 6);
  EXPECT_TRUE(kjt.feature(1).ids.empty());
  EXPECT_EQ(kjt.feature(1).samples, 3);
  EXPECT_THAT(kjt.feature(2).ids, ElementsAre(6, 7, 8));
}

TEST(KeyedJaggedTensor, JaggedOffsetsAreRelativeToTheFeature) {
  const KeyedJaggedTensor kjt = SmallJagged();
  EXPECT_THAT(kjt.feature(0).ids, ElementsAre(5, 6, 7));
  EXPECT_THAT(kjt.feature(0).offsets, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(kjt.feature(1).ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(kjt.feature(1).offsets, ElementsAre(0, 0, 3, 3));
  EXPECT_EQ(kjt.feature(1).fixed_size, 0);
}

TEST(KeyedJaggedTensor, EmptyBatchAndNoFeatures) {
  KeyedJaggedTensor kjt({"a"});
  kjt.ResetJagged(0, {}, {});
  EXPECT_THAT(kjt.feature(0).offsets, ElementsAre(0));
  KeyedJaggedTensor none(std::vector<std::string>{});
  none.ResetJagged(4, {}, {});
  EXPECT_EQ(none.batch_size(), 4);
  KeyedJaggedTensor fixed({"a"}, {3});
  EXPECT_TRUE(fixed.feature(0).ids.empty());
  fixed.ResetFixed(0);
  EXPECT_TRUE(fixed.values().empty());
}

TEST(KeyedJaggedTensor, WeightsFollowTheirIds) {
  KeyedJaggedTensor kjt({"a", "b"});
  const std::vector<std::int32_t> lengths = {1, 2};
  const std::vector<std::int64_t> values = {1, 2, 3};
  const std::vector<float> weights = {0.5F, 1.5F, 2.5F};
  kjt.ResetJagged(1, lengths, values, weights);
  EXPECT_TRUE(kjt.is_weighted());
  EXPECT_THAT(kjt.feature(1).weights, ElementsAre(1.5F, 2.5F));
  kjt.ResetJagged(1, lengths, values);
  EXPECT_FALSE(kjt.is_weighted());
  EXPECT_TRUE(kjt.feature(1).weights.empty());
}

TEST(KeyedJaggedTensor, SteadyStateKeepsItsMemory) {
  KeyedJaggedTensor kjt({"a"}, {4});
  kjt.ResetFixed(100);
  const std::int64_t* before = kjt.values().data();
  kjt.ResetFixed(10);
  kjt.ResetFixed(100);
  EXPECT_EQ(kjt.values().data(), before);
}

TEST(KeyedJaggedTensor, RandomBagsRoundTrip) {
  RandomSequence random(7, RandomStream::kShuffle);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t features = random.NextBelow(5);
    const std::int64_t batch = random.NextBelow(9);
    std::vector<std::string> keys;
    for (std::int64_t f = 0; f < features; ++f)
      keys.push_back(std::string(static_cast<std::size_t>(f + 1), 'f'));
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < features * batch; ++i) {
      lengths.push_back(static_cast<std::int32_t>(random.NextBelow(4)));
      for (int k = 0; k < lengths.back(); ++k) values.push_back(random.NextBelow(1000));
    }
    KeyedJaggedTensor kjt(keys);
    kjt.ResetJagged(batch, lengths, values);
    std::vector<std::int64_t> read;
    for (std::int64_t f = 0; f < features; ++f) {
      const FeatureBags bags = kjt.feature(f);
      for (std::int64_t s = 0; s < batch; ++s) {
        EXPECT_EQ(bags.end(s) - bags.begin(s), lengths[static_cast<std::size_t>(f * batch + s)]);
        for (std::int64_t i = bags.begin(s); i < bags.end(s); ++i) {
          read.push_back(bags.ids[static_cast<std::size_t>(i)]);
        }
      }
    }
    EXPECT_EQ(read, values);
  }
}

// Jagged or fixed, with weights or without: a slice's bags are the whole's.
TEST(KeyedJaggedTensor, ASliceHasTheBagsOfTheWhole) {
  RandomSequence random(8, RandomStream::kShuffle);
  KeyedJaggedTensor slice;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t batch = random.NextBelow(9);
    const bool weighted = round % 3 == 0;
    const bool is_fixed = round % 2 == 0;
    const std::vector<std::int32_t> sizes = {2, 0, 3};
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> values;
    std::vector<float> weights;
    for (std::int64_t bag = 0; bag < 3 * batch; ++bag) {
      lengths.push_back(is_fixed ? sizes[static_cast<std::size_t>(bag / batch)]
                                 : static_cast<std::int32_t>(random.NextBelow(4)));
      for (int k = 0; k < lengths.back(); ++k) {
        values.push_back(random.NextBelow(1000));
        if (weighted) weights.push_back(static_cast<float>(values.back()) + 0.5F);
      }
    }
    KeyedJaggedTensor whole =
        is_fixed ? KeyedJaggedTensor({"a", "b", "c"}, sizes) : KeyedJaggedTensor({"a", "b", "c"});
    if (is_fixed) {
      whole.ResetFixed(batch, weighted);
      std::ranges::copy(values, whole.mutable_values().begin());
      std::ranges::copy(weights, whole.mutable_weights().begin());
    } else {
      whole.ResetJagged(batch, lengths, values, weights);
    }
    const std::int64_t begin = random.NextBelow(batch + 1);
    const Slice samples{begin, begin + random.NextBelow(batch - begin + 1)};
    slice.AssignSlice(whole, samples);
    EXPECT_EQ(slice.keys(), whole.keys());
    EXPECT_EQ(slice.batch_size(), samples.size());
    EXPECT_EQ(slice.is_fixed(), is_fixed);
    EXPECT_EQ(slice.is_weighted(), whole.is_weighted());
    for (std::int64_t f = 0; f < 3; ++f) {
      const FeatureBags of = whole.feature(f);
      const FeatureBags bags = slice.feature(f);
      EXPECT_EQ(bags.num_ids(), of.begin(samples.end) - of.begin(samples.begin));
      for (std::int64_t s = 0; s < samples.size(); ++s) {
        ASSERT_EQ(bags.end(s) - bags.begin(s), of.end(samples.begin + s) - of.begin(samples.begin + s));
        if (!is_fixed) {
          EXPECT_EQ(slice.lengths()[static_cast<std::size_t>(f * samples.size() + s)],
                    bags.end(s) - bags.begin(s));
        }
        for (std::int64_t i = bags.begin(s); i < bags.end(s); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const auto from = static_cast<std::size_t>(i - bags.begin(s) + of.begin(samples.begin + s));
          EXPECT_EQ(bags.ids[at], of.ids[from]);
          if (whole.is_weighted()) {
            EXPECT_EQ(bags.weights[at], of.weights[from]);
          }
        }
      }
    }
  }
}

TEST(KeyedJaggedTensor, AnErrorLeavesTheTensorAsItWas) {
  KeyedJaggedTensor jagged({"a", "b"});
  jagged.ResetJagged(2, std::vector<std::int32_t>{1, 0, 2, 1}, std::vector<std::int64_t>{5, 6, 7, 8});
  EXPECT_THROW(
      jagged.ResetJagged(3, std::vector<std::int32_t>{2, 1, 1, 1, 0, -1}, std::vector<std::int64_t>(4)),
      Error);
  EXPECT_EQ(jagged.batch_size(), 2);
  EXPECT_THAT(jagged.feature(0).ids, ElementsAre(5));
  EXPECT_THAT(jagged.feature(1).ids, ElementsAre(6, 7, 8));
  EXPECT_THAT(jagged.feature(1).offsets, ElementsAre(0, 2, 3));

  KeyedJaggedTensor fixed({"a", "b"}, {1, 2});
  fixed.ResetFixed(2);
  constexpr std::int64_t kPebi = std::int64_t{1} << 50;
  for (const std::int64_t samples : {kPebi, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THROW(fixed.ResetFixed(samples), Error);
    EXPECT_EQ(fixed.batch_size(), 2);
    EXPECT_EQ(fixed.feature(1).ids.size(), 4U);
  }
}

TEST(KeyedJaggedTensor, ErrorsNameFeatureAndSample) {
  KeyedJaggedTensor kjt({"a", "b"});
  const std::vector<std::int64_t> three = {1, 2, 3};
  EXPECT_THAT(
      [&] {
        kjt.ResetJagged(2, std::vector<std::int32_t>{1, 1, -1, 2}, three);
      },
      ThrowsMessage<Error>("feature 'b', sample 0: length -1 is negative"));
  EXPECT_THAT(
      [&] {
        kjt.ResetJagged(2, std::vector<std::int32_t>{1, 1, 0, 2}, three);
      },
      ThrowsMessage<Error>("feature 'b', sample 1: its 2 ids would end at 4, but there are only 3 ids"));
  EXPECT_THAT(
      [&] {
        kjt.ResetJagged(2, std::vector<std::int32_t>{1, 1, 0, 0}, three);
      },
      ThrowsMessage<Error>("lengths sum to 2, but there are 3 ids: 1 ids follow the last bag, feature "
                           "'b', sample 1"));
  EXPECT_THAT(
      [&] {
        kjt.ResetJagged(2, std::vector<std::int32_t>{1, 1}, three);
      },
      ThrowsMessage<Error>("2 lengths; 2 features of 2 samples need 4"));
  EXPECT_THAT(
      [&] {
        kjt.ResetJagged(1, std::vector<std::int32_t>{1, 2}, three, std::vector<float>{1.0F});
      },
      ThrowsMessage<Error>("1 weights for 3 ids: each id needs one"));
  EXPECT_THAT([&] { KeyedJaggedTensor({"a"}, {-2}); },
              ThrowsMessage<Error>("feature 'a': bag size -2 is negative"));
  EXPECT_THAT([&] { KeyedJaggedTensor({"a"}, {1, 2}); }, ThrowsMessage<Error>(HasSubstr("2 bag sizes")));
}

TEST(CheckIds, GoodIdsPassUntouched) {
  KeyedJaggedTensor kjt = SmallJagged();
  EXPECT_EQ(CheckIds(kjt, std::vector<std::int64_t>{8, 4}, BadIds::kError, 0), 0);
  EXPECT_THAT(kjt.values(), ElementsAre(5, 6, 7, 1, 2, 3));
}

TEST(CheckIds, ErrorNamesFeatureSampleIdAndRange) {
  KeyedJaggedTensor kjt = SmallJagged();
  EXPECT_THAT(
      [&] {
        CheckIds(kjt, std::vector<std::int64_t>{7, 4}, BadIds::kError, 100);
      },
      ThrowsMessage<Error>("feature 'a', sample 102: id 7 is out of range; valid ids are 0 to 6"));
  EXPECT_THAT(
      [&] {
        CheckIds(kjt, std::vector<std::int64_t>{8, 3}, BadIds::kError, 0);
      },
      ThrowsMessage<Error>("feature 'b', sample 1: id 3 is out of range; valid ids are 0 to 2"));
}

TEST(CheckIds, ErrorFindsTheSampleOfFixedBags) {
  KeyedJaggedTensor kjt({"a"}, {3});
  kjt.ResetFixed(2);
  kjt.mutable_values()[5] = -1;
  EXPECT_THAT([&] { CheckIds(kjt, std::vector<std::int64_t>{7}, BadIds::kError, 0); },
              ThrowsMessage<Error>("feature 'a', sample 1: id -1 is out of range; valid ids are 0 to 6"));
}

TEST(CheckIds, SkipAndWrap) {
  KeyedJaggedTensor kjt({"a"}, {4});
  const std::vector<std::int64_t> ids = {-1, 10, 3, std::numeric_limits<std::int64_t>::min()};
  kjt.ResetFixed(1);
  std::copy(ids.begin(), ids.end(), kjt.mutable_values().begin());
  EXPECT_EQ(CheckIds(kjt, std::vector<std::int64_t>{10}, BadIds::kWrap, 0), 3);
  EXPECT_THAT(kjt.values(), ElementsAre(9, 0, 3, 2));
  std::copy(ids.begin(), ids.end(), kjt.mutable_values().begin());
  EXPECT_EQ(CheckIds(kjt, std::vector<std::int64_t>{10}, BadIds::kSkip, 0), 3);
  EXPECT_THAT(kjt.values(), ElementsAre(-1, -1, 3, -1));
}

TEST(CheckIds, RandomAgainstThePlainRule) {
  RandomSequence random(3, RandomStream::kShuffle);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t rows = 1 + random.NextBelow(20);
    KeyedJaggedTensor kjt({"a"}, {3});
    kjt.ResetFixed(1 + random.NextBelow(9));
    std::int64_t bad = 0;
    for (std::int64_t& id : kjt.mutable_values()) {
      id = random.NextBelow(30) < 29 ? random.NextBelow(rows) : random.NextBelow(60) - 30;
      bad += (id < 0 || id >= rows) ? 1 : 0;
    }
    EXPECT_EQ(CheckIds(kjt, std::vector<std::int64_t>{rows}, BadIds::kWrap, 0), bad);
    for (const std::int64_t id : kjt.values()) EXPECT_TRUE(id >= 0 && id < rows);
  }
}

TEST(ParseBadIds, ListsTheValidOnes) {
  EXPECT_EQ(ParseBadIds("skip"), BadIds::kSkip);
  EXPECT_EQ(ParseBadIds("wrap"), BadIds::kWrap);
  EXPECT_EQ(ParseBadIds("error"), BadIds::kError);
  EXPECT_THAT([] { ParseBadIds("ignore"); },
              ThrowsMessage<Error>("bad ids: 'ignore' is none of error, skip, wrap"));
}

}  // namespace
}  // namespace hotrow
