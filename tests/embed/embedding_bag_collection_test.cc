#include "hotrow/embed/embedding_bag_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "tests/embed/reference_backward.h"
#include "tests/support/pooled_places.h"

namespace hotrow {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const OptimizerConfig kOptimizer = {.learning_rate = 0.1F};

// b is SUM and serves two features that are not neighbours, in the other order; a is MEAN and of another
// width.
std::vector<EmbeddingTableConfig> Tables() {
  return {{"a", 40, 12, PoolingType::kMean, {"f1"}, kOptimizer},
          {"b", 25, 5, PoolingType::kSum, {"f2", "f0"}, kOptimizer}};
}
const std::vector<std::string> kFeatures = {"f0", "f1", "f2"};
const std::vector<std::int64_t> kColumns = {2, 10, 30};
constexpr std::int64_t kStride = 40;
const std::vector<PooledPlace> kPlaces = test::PlacesAt(kColumns, kStride);
constexpr std::int64_t kBatch = 50;
constexpr std::int64_t kUnits = 8;

struct Data {
  KeyedJaggedTensor batch{kFeatures};
  std::vector<float> gradient;

  explicit Data(std::uint64_t seed) : gradient(kBatch * kStride) {
    RandomSequence random(seed, RandomStream::kPlanted);
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> values;
    for (const std::int64_t rows : {25, 40, 25}) {
      for (std::int64_t s = 0; s < kBatch; ++s) {
        lengths.push_back(static_cast<std::int32_t>(random.NextBelow(4)));
        for (int i = 0; i < lengths.back(); ++i) values.push_back(random.NextBelow(rows));
      }
    }
    batch.ResetJagged(kBatch, lengths, values);
    for (float& g : gradient) g = static_cast<float>(random.NextNormal());
  }
};

EmbeddingOptions Options(BackwardKernel kernel, StorageKind storage) {
  EmbeddingOptions options;
  options.kernel = kernel;
  options.storage = storage;
  options.seed = 6;
  return options;
}

struct Trained {
  std::vector<float> pooled;
  std::uint64_t weights = 0;
  std::uint64_t state = 0;
  bool operator==(const Trained&) const = default;
};

Trained Train(const EmbeddingOptions& options, int threads) {
  ThreadPool pool(threads);
  EmbeddingBagCollection collection(Tables(), kFeatures, options, pool);
  Trained out;
  out.pooled.resize(kBatch * kStride);
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Data data(static_cast<std::uint64_t>(step));
    collection.Forward(data.batch, {out.pooled.data(), kPlaces}, pool);
    collection.Backward(data.batch, {data.gradient.data(), kPlaces}, kUnits, step, pool);
  }
  out.weights = collection.WeightsHash(pool);
  out.state = collection.StateHash(pool);
  return out;
}

TEST(EmbeddingBagCollection, TrainsToTheSameBitsHoweverItRuns) {
  const Trained first = Train(Options(BackwardKernel::kFused, StorageKind::kEager), 1);
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(Train(Options(BackwardKernel::kFused, StorageKind::kEager), threads), first);
    EXPECT_EQ(Train(Options(BackwardKernel::kFused, StorageKind::kLazy), threads), first);
    EXPECT_EQ(Train(Options(BackwardKernel::kUnfused, StorageKind::kEager), threads), first);
  }
}

TEST(EmbeddingBagCollection, RoutesFeaturesToTablesAndColumns) {
  ThreadPool pool(2);
  const EmbeddingOptions options = Options(BackwardKernel::kFused, StorageKind::kEager);
  EmbeddingBagCollection collection(Tables(), kFeatures, options, pool);
  EXPECT_EQ(collection.num_tables(), 2);
  EXPECT_EQ(collection.TableOfFeature(0), 1);
  EXPECT_EQ(collection.TableOfFeature(1), 0);
  EXPECT_EQ(collection.LogicalBytes(), (40 * 24 + 25 * 10) * 4);
  const Data data(1);
  std::vector<float> pooled(kBatch * kStride, -7.0F);
  collection.Forward(data.batch, {pooled.data(), kPlaces}, pool);
  std::vector<float> row(12);
  int untouched = 0;
  for (std::int64_t s = 0; s < kBatch; ++s) {
    for (std::int64_t f = 0; f < 3; ++f) {
      const EmbeddingTable& table = collection.table(collection.TableOfFeature(f));
      const FeatureBags bags = data.batch.feature(f);
      std::vector<double> expected(static_cast<std::size_t>(table.dim()));
      for (std::int64_t p = bags.begin(s); p < bags.end(s); ++p) {
        table.ReadRows(bags.ids[static_cast<std::size_t>(p)], 1, row.data());
        const double n = f == 1 ? static_cast<double>(bags.end(s) - bags.begin(s)) : 1.0;
        for (std::size_t c = 0; c < expected.size(); ++c) expected[c] += static_cast<double>(row[c]) / n;
      }
      for (std::size_t c = 0; c < expected.size(); ++c) {
        const auto at = static_cast<std::size_t>(s * kStride + kColumns[static_cast<std::size_t>(f)]) + c;
        ASSERT_NEAR(static_cast<double>(pooled[at]), expected[c], 1e-6);
      }
    }
    for (std::int64_t c = 0; c < kStride; ++c)
      untouched += pooled[static_cast<std::size_t>(s * kStride + c)] == -7.0F;
  }
  EXPECT_EQ(untouched, kBatch * (kStride - 12 - 2 * 5));

  // Table b's features count in its own order, f2 before f0.
  BagGradients input{&collection.table(1), {}};
  for (const std::int64_t f : {2, 0}) {
    input.features.push_back(
        {data.batch.feature(f), data.gradient.data() + kColumns[static_cast<std::size_t>(f)], kStride});
  }
  test::TableValues<float> expected = test::ReadTable<float>(collection.table(1));
  for (const auto& [touched, gradient] : test::ReferenceSums<float>(input, kUnits)) {
    test::ReferenceUpdate<float>(kOptimizer, 1, touched, gradient, expected);
  }
  collection.Backward(data.batch, {data.gradient.data(), kPlaces}, kUnits, 1, pool);
  EXPECT_EQ(test::ReadTable<float>(collection.table(1)).weights, expected.weights);
}

TEST(EmbeddingBagCollection, NamesWhatIsWrong) {
  ThreadPool pool(1);
  const auto make = [&](std::vector<EmbeddingTableConfig> tables, std::vector<std::string> features,
                        EmbeddingOptions options = {}) {
    EmbeddingBagCollection(std::move(tables), std::move(features), options, pool);
  };
  EXPECT_THAT(
      [&] {
        make(Tables(), {"f0", "f1", "f2", "f3"});
      },
      ThrowsMessage<Error>(HasSubstr("feature 'f3' has no embedding table")));
  EXPECT_THAT(
      [&] {
        make(Tables(), {"f0", "f1"});
      },
      ThrowsMessage<Error>(HasSubstr("table 'b': feature 'f2' is not among")));
  auto doubled = Tables();
  doubled[0].feature_names.push_back("f0");
  EXPECT_THAT([&] { make(doubled, kFeatures); }, ThrowsMessage<Error>(HasSubstr("two tables, 'a' and 'b'")));
  auto large = Tables();
  large[0].num_embeddings = 10'000'000'000;
  EXPECT_THAT([&] { make(large, kFeatures); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("embedding tables need 894.07 GiB"),
                                                  HasSubstr("GiB are available"))));
  EXPECT_THAT([&] { make(Tables(), kFeatures, Options(BackwardKernel::kUnfused, StorageKind::kLazy)); },
              ThrowsMessage<Error>(HasSubstr("needs eager tables")));
  EXPECT_THAT([] { ParseBackwardKernel("fast"); },
              ThrowsMessage<Error>(HasSubstr("'fast', must be one of: fused, unfused")));
}

}  // namespace
}  // namespace hotrow
