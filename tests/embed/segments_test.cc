#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/embed/fused_backward.h"
#include "hotrow/embed/pooled_lookup.h"
#include "hotrow/embed/touched_rows.h"
#include "hotrow/embed/unfused_backward.h"
#include "tests/embed/backward_cases.h"
#include "tests/embed/expected_tables.h"

namespace hotrow {
namespace {

using test::BackwardCase;
using test::ExpectSameBits;
using test::kSteps;
using test::MakeConfig;
using test::ReadTable;
using test::TableValues;

// A piece of a feature's bags in memory of its own, ids of 4 or 8 bytes.
struct Piece {
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> narrow_ids;
  std::vector<float> weights;
  std::vector<std::int64_t> offsets;
  FeatureBags bags;

  Piece(const FeatureBags& whole, Slice samples, bool narrow) {
    const std::int64_t begin = whole.begin(samples.begin);
    const std::int64_t end = whole.begin(samples.end);
    ids.assign(whole.ids.begin() + begin, whole.ids.begin() + end);
    if (!whole.weights.empty()) weights.assign(whole.weights.begin() + begin, whole.weights.begin() + end);
    for (std::int64_t s = samples.begin; s <= samples.end; ++s) offsets.push_back(whole.begin(s) - begin);
    if (narrow) {
      for (const std::int64_t id : ids) narrow_ids.push_back(static_cast<std::int32_t>(id));
      bags.narrow_ids = narrow_ids;
    } else {
      bags.ids = ids;
    }
    bags.weights = weights;
    bags.samples = samples.size();
    if (whole.offsets.empty()) {
      bags.fixed_size = whole.fixed_size;
    } else {
      bags.offsets = offsets;
    }
  }
};

// A backward's input cut into segments of the given sizes, gradients with strides of their own.
struct Segmented {
  std::vector<std::unique_ptr<Piece>> pieces;
  std::vector<std::vector<float>> gradients;
  BagGradients input;

  Segmented(const BagGradients& whole, const std::vector<std::int64_t>& sizes, bool narrow) {
    input.table = whole.table;
    input.segments = static_cast<std::int64_t>(sizes.size());
    const std::int64_t dim = whole.table->dim();
    std::int64_t first = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      const Slice samples{first, first + sizes[s]};
      for (const FeatureGradient& feature : whole.features) {
        pieces.push_back(std::make_unique<Piece>(feature.bags, samples, narrow));
        const std::int64_t stride = dim + static_cast<std::int64_t>(s);
        std::vector<float> gradient(static_cast<std::size_t>(sizes[s] * stride), 7.0F);
        for (std::int64_t i = 0; i < sizes[s]; ++i) {
          std::copy_n(feature.gradient + (first + i) * feature.stride, dim, gradient.data() + i * stride);
        }
        gradients.push_back(std::move(gradient));
        input.features.push_back({pieces.back()->bags, gradients.back().data(), stride});
      }
      first = samples.end;
    }
  }
};

std::vector<std::vector<std::int64_t>> Cuts(std::int64_t samples) {
  const std::int64_t third = samples / 3;
  return {{samples},
          {third, 0, samples - third},
          {0, samples, 0, 0},
          {samples - 2 * third, 1 < third ? 1 : 0, third - (1 < third ? 1 : 0), third}};
}

TEST(Segments, OfABatchTrainAsTheWholeBatchDoes) {
  ThreadPool one(1);
  ThreadPool three(3);
  std::uint64_t seed = 40;
  for (const auto& [name, shapes] : test::BackwardShapes()) {
    const std::int64_t dim = shapes[0].samples > 1000 ? 4 : 20;
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean}) {
      const BackwardCase backward(shapes, dim, pooling, ++seed);
      const OptimizerConfig config = MakeConfig(OptimizerKind::kAdagrad, WeightDecayMode::kNone);
      const TableValues<float> expected = test::Expected<float>(backward, config, 8);
      for (const auto& sizes : Cuts(shapes[0].samples)) {
        for (const bool narrow : {false, true}) {
          SCOPED_TRACE(name + ", " + std::to_string(sizes.size()) + " segments, the first of " +
                       std::to_string(sizes[0]) + ", ids of " + (narrow ? "4" : "8") + " bytes");
          for (ThreadPool* pool : {&one, &three}) {
            const auto fused_table = backward.MakeTable(config, StorageKind::kLazy, *pool);
            const auto unfused_table = backward.MakeTable(config, StorageKind::kEager, *pool);
            const auto apart_table = backward.MakeTable(config, StorageKind::kEager, *pool);
            const Segmented fused(backward.On(*fused_table), sizes, narrow);
            const Segmented unfused(backward.On(*unfused_table), sizes, narrow);
            const Segmented apart(backward.On(*apart_table), sizes, narrow);
            FusedBackward fused_backward;
            UnfusedBackward unfused_backward;
            TouchedRowSum sum;
            TouchedRows touched;
            BackwardScratch scratch;
            for (std::int64_t step = 1; step <= kSteps; ++step) {
              fused_backward.Run({&fused.input, 1}, step, 8, *pool);
              unfused_backward.Run({&unfused.input, 1}, step, 8, *pool);
              sum.Run(apart.input, 8, *pool, touched);
              ApplyToRows(*apart_table, step, touched, nullptr, scratch, *pool);
            }
            ExpectSameBits(ReadTable<float>(*fused_table).weights, expected.weights);
            ExpectSameBits(ReadTable<float>(*unfused_table).weights, expected.weights);
            ExpectSameBits(ReadTable<float>(*apart_table).weights, expected.weights);
          }
        }
      }
    }
  }
}

// Where ranks have summed their units, and each rank's sums are a segment of rows with one id each.
TEST(Segments, AsUnitsAreTheTopOfTheTree) {
  ThreadPool pool(2);
  constexpr std::int64_t kUnits = 8;
  std::uint64_t seed = 70;
  for (const auto& [name, shapes] : test::BackwardShapes()) {
    SCOPED_TRACE(name);
    const BackwardCase backward(shapes, 8, PoolingType::kMean, ++seed);
    const OptimizerConfig config = MakeConfig(OptimizerKind::kAdagrad, WeightDecayMode::kNone);
    const TableValues<float> expected = test::Expected<float>(backward, config, kUnits);
    const auto table = backward.MakeTable(config, StorageKind::kEager, pool);
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      constexpr std::int64_t kRanks = 4;
      std::vector<std::int64_t> sizes;
      for (std::int64_t rank = 0; rank < kRanks; ++rank) {
        const std::int64_t samples = shapes[0].samples;
        constexpr std::int64_t kEach = kUnits / kRanks;
        sizes.push_back(EvenSlice(samples, kUnits, (rank + 1) * kEach - 1).end -
                        EvenSlice(samples, kUnits, rank * kEach).begin);
      }
      const Segmented ranks(backward.On(*table), sizes, true);
      std::vector<TouchedRows> touched(kRanks);
      BagGradients top{table.get(), {}, kRanks};
      for (std::int64_t rank = 0; rank < kRanks; ++rank) {
        const auto features = ranks.input.segment(rank);
        TouchedRows& rows = touched[static_cast<std::size_t>(rank)];
        TouchedRowSum().Run({table.get(), {features.begin(), features.end()}}, kUnits / kRanks, pool, rows);
        FeatureBags bags;
        bags.ids = {rows.rows.data(), static_cast<std::size_t>(rows.count)};
        bags.fixed_size = 1;
        bags.samples = rows.count;
        top.features.push_back({bags, rows.gradients.data(), 8});
      }
      FusedBackward().Run({&top, 1}, step, kUnitPerSegment, pool);
    }
    ExpectSameBits(ReadTable<float>(*table).weights, expected.weights);
  }
}

TEST(Segments, AreLookedUpInPlaceWithIdsOfEitherWidth) {
  ThreadPool pool(3);
  for (const bool weighted : {false, true}) {
    for (const StorageKind storage : {StorageKind::kEager, StorageKind::kLazy}) {
      const EmbeddingTable table({"t", 3000, 24, PoolingType::kMean, {}}, {}, storage, 0, 1, pool);
      const test::RandomBags whole(
          {.samples = 900, .rows = 3000, .largest = 40, .weighted = weighted, .skipped = 0.1}, 3);
      std::vector<float> expected(900 * 24);
      const FeatureLookup one{&table, whole.bags, expected.data(), 24};
      PooledLookup lookup;
      lookup.Run({&one, 1}, pool);
      for (const auto& sizes : Cuts(900)) {
        std::vector<float> out(900 * 30);
        std::vector<std::unique_ptr<Piece>> pieces;
        std::vector<FeatureLookup> lookups;
        std::int64_t first = 0;
        for (const std::int64_t size : sizes) {
          pieces.push_back(
              std::make_unique<Piece>(whole.bags, Slice{first, first + size}, pieces.size() % 2 == 0));
          lookups.push_back({&table, pieces.back()->bags, out.data() + first * 30, 30});
          first += size;
        }
        lookup.Run(lookups, pool);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_EQ(out[i / 24 * 30 + i % 24], expected[i]) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotrow
