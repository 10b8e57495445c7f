#include "hotrow/embed/pooled_lookup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/embed/random_bags.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

using test::BagShape;
using test::RandomBags;

// The definition, slowly: T = float gives the bits, T = double the value.
template <typename T>
std::vector<T> Reference(const EmbeddingTable& table, const FeatureBags& bags) {
  const auto dim = static_cast<std::size_t>(table.dim());
  std::vector<T> out(static_cast<std::size_t>(bags.samples) * dim);
  std::vector<float> row(dim);
  for (std::int64_t s = 0; s < bags.samples; ++s) {
    T* sum = out.data() + static_cast<std::size_t>(s) * dim;
    int pooled = 0;
    for (std::int64_t p = bags.begin(s); p < bags.end(s); ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (bags.ids[at] < 0) continue;
      table.ReadRows(bags.ids[at], 1, row.data());
      for (std::size_t c = 0; c < dim; ++c) {
        T value = static_cast<T>(row[c]);
        if (!bags.weights.empty()) value = static_cast<T>(bags.weights[at]) * value;
        sum[c] = pooled == 0 ? value : sum[c] + value;
      }
      ++pooled;
    }
    if (table.config().pooling == PoolingType::kMean && pooled > 0) {
      const T scale = T{1} / static_cast<T>(pooled);
      for (std::size_t c = 0; c < dim; ++c) sum[c] = sum[c] * scale;
    }
  }
  return out;
}

std::vector<BagShape> Shapes() {
  return {
      {.samples = 37, .rows = 50, .largest = 5, .skipped = 0.2},
      {.samples = 1,
       .rows = 1,
       .largest = 70,
       .fixed = true},  // one row, one sample, several batches of rows
      {.samples = 19, .rows = 1000, .largest = 100, .distinct = 1},  // all duplicates
      {.samples = 300, .rows = 7, .largest = 3, .fixed = true, .weighted = true},
      {.samples = 64, .rows = 300, .largest = 40, .weighted = true, .skipped = 0.5},
      {.samples = 8, .rows = 30, .largest = 0, .fixed = true},                  // every bag empty
      {.samples = 5, .rows = 30, .largest = 4, .fixed = true, .skipped = 1.0},  // every id skipped
      {.samples = 0, .rows = 30, .largest = 4},
      {.samples = 9000, .rows = 3000, .largest = 2},  // several tasks
  };
}

TEST(PooledLookup, AgreesWithTheDefinitionOnEveryTargetThreadCountAndStorage) {
  ThreadPool one(1);
  ThreadPool two(2);
  ThreadPool three(3);
  std::uint64_t seed = 0;
  for (const BagShape& shape : Shapes()) {
    for (const std::int64_t dim : {1, 3, 16, 100, 128, 300}) {
      for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean}) {
        SCOPED_TRACE("shape of seed " + std::to_string(++seed) + ", dim " + std::to_string(dim));
        const EmbeddingTableConfig config{"t",     shape.rows, dim,
                                          pooling, {"f"},      {.kind = OptimizerKind::kRowWiseAdagrad}};
        const RandomBags random(shape, seed);
        EmbeddingTable eager(config, {}, StorageKind::kEager, 0, 5, one);
        EmbeddingTable lazy(config, {}, StorageKind::kLazy, 0, 5, one);
        std::vector<float> changed(static_cast<std::size_t>(dim), -0.0F);
        eager.WriteRows(shape.rows - 1, 1,
                        changed.data());  // a resident row among generated ones; -0 must survive
        lazy.WriteRows(shape.rows - 1, 1, changed.data());
        const std::vector<float> expected = Reference<float>(eager, random.bags);
        const std::vector<double> exact = Reference<double>(eager, random.bags);
        for (std::size_t i = 0; i < exact.size(); ++i) {
          ASSERT_NEAR(static_cast<double>(expected[i]), exact[i], 3e-5) << i;
        }
        const std::int64_t resident = lazy.ResidentBytes();
        test::ForEachSimdTarget([&] {
          PooledLookup lookup;
          for (ThreadPool* pool : {&one, &two, &three}) {
            for (const EmbeddingTable* table : {&eager, &lazy}) {
              const std::int64_t stride = dim + 5;
              std::vector<float> out(static_cast<std::size_t>(shape.samples * stride), 9.0F);
              const FeatureLookup feature{table, random.bags, out.data(), stride};
              lookup.Run({&feature, 1}, *pool);
              for (std::int64_t s = 0; s < shape.samples; ++s) {
                ASSERT_EQ(std::memcmp(out.data() + s * stride, expected.data() + s * dim,
                                      static_cast<std::size_t>(dim) * sizeof(float)),
                          0)
                    << "sample " << s;
                ASSERT_EQ(out[static_cast<std::size_t>(s * stride + dim)], 9.0F);
              }
            }
          }
        });
        EXPECT_EQ(lazy.ResidentBytes(), resident);
      }
    }
  }
}

TEST(PooledLookup, SeveralFeaturesAndTablesOfOtherWidths) {
  ThreadPool pool(3);
  const EmbeddingTable wide({"w", 90, 24, PoolingType::kSum, {}}, {}, StorageKind::kEager, 0, 1, pool);
  const EmbeddingTable narrow({"n", 50, 8, PoolingType::kMean, {}}, {}, StorageKind::kLazy, 1, 1, pool);
  const RandomBags a({.samples = 500, .rows = 90, .largest = 30}, 1);
  const RandomBags b({.samples = 500, .rows = 50, .largest = 9, .fixed = true}, 2);
  const RandomBags c({.samples = 500, .rows = 90, .largest = 2, .weighted = true}, 3);
  constexpr std::int64_t kStride = 24 + 8 + 24;
  std::vector<float> out(500 * kStride);
  const std::vector<FeatureLookup> features = {{&wide, a.bags, out.data(), kStride},
                                               {&narrow, b.bags, out.data() + 24, kStride},
                                               {&wide, c.bags, out.data() + 32, kStride}};
  PooledLookup().Run(features, pool);
  for (std::size_t f = 0; f < features.size(); ++f) {
    const auto dim = static_cast<std::size_t>(features[f].table->dim());
    const std::vector<float> expected = Reference<float>(*features[f].table, features[f].bags);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(features[f].out[i / dim * kStride + i % dim], expected[i]) << "feature " << f;
    }
  }
}

}  // namespace
}  // namespace hotrow
