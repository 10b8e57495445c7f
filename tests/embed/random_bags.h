#pragma once
// Random bags of one feature: what the kernels of the embedding tables are tested with.

#include <cstdint>
#include <vector>

#include "hotrow/base/rng.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow::test {

struct BagShape {
  std::int64_t samples = 0;
  std::int64_t rows = 0;     ///< of the table
  std::int32_t largest = 0;  ///< ids a bag: 0 to largest, or exactly largest where fixed
  bool fixed = false;
  bool weighted = false;
  double skipped = 0.0;       ///< share of ids that are -1
  std::int64_t distinct = 0;  ///< 0, or how many rows the ids are drawn from
};

/// Owns what a FeatureBags views.
struct RandomBags {
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  std::vector<std::int64_t> offsets;
  FeatureBags bags;

  RandomBags(const BagShape& shape, std::uint64_t seed) {
    RandomSequence random(seed, RandomStream::kPlanted);
    offsets.push_back(0);
    const std::int64_t distinct = shape.distinct == 0 ? shape.rows : shape.distinct;
    for (std::int64_t s = 0; s < shape.samples; ++s) {
      const std::int64_t count = shape.fixed ? shape.largest : random.NextBelow(shape.largest + 1);
      for (std::int64_t i = 0; i < count; ++i) {
        // Spread over the whole table: its last row is drawn too.
        const std::int64_t id = shape.rows - 1 - random.NextBelow(distinct) * (shape.rows / distinct);
        ids.push_back(random.NextDouble() < shape.skipped ? -1 : id);
        if (shape.weighted) weights.push_back(static_cast<float>(random.NextNormal()));
      }
      offsets.push_back(static_cast<std::int64_t>(ids.size()));
    }
    bags.ids = ids;
    bags.weights = weights;
    if (!shape.fixed) bags.offsets = offsets;
    bags.fixed_size = shape.fixed ? shape.largest : 0;
    bags.samples = shape.samples;
  }
  RandomBags(const RandomBags&) = delete;
  RandomBags& operator=(const RandomBags&) = delete;
};

}  // namespace hotrow::test
