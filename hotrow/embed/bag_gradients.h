#pragma once
// What a backward starts from: one table's bags, and the gradients of what was pooled from them.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/embed/table.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// A feature's bags; the gradient of sample s's pooled row is at gradient[s * stride], as wide as the table.
struct FeatureGradient {
  FeatureBags bags;
  const float* gradient = nullptr;
  std::int64_t stride = 0;  ///< floats
};

/// All features of one table, in the table's order. A batch may come in segments, say one from each rank:
/// consecutive samples, each segment with memory of its own, any of them empty.
struct BagGradients {
  EmbeddingTable* table = nullptr;
  /// [segments, features of the table]; within a segment all have the same number of samples.
  std::vector<FeatureGradient> features;
  std::int64_t segments = 1;

  std::int64_t num_features() const { return static_cast<std::int64_t>(features.size()) / segments; }
  std::span<const FeatureGradient> segment(std::int64_t s) const {
    return std::span(features).subspan(Index(s * num_features()), Index(num_features()));
  }
  std::int64_t samples(std::int64_t s) const {
    return features.empty() ? 0 : features[Index(s * num_features())].bags.samples;
  }
};

/// How a bag's place in a batch is packed into 32 bits: segment, sample in it, feature. So bags ascend as
/// (segment, sample, feature) do, and the samples of a batch have codes that ascend, with gaps.
struct BagCode {
  int feature_bits = 0;
  int sample_bits = 0;

  /// segment << sample_bits | sample.
  std::uint64_t Sample(std::uint32_t bag) const { return static_cast<std::uint64_t>(bag) >> feature_bits; }
  /// Index into BagGradients::features.
  std::int64_t Feature(std::uint32_t bag, std::int64_t num_features) const {
    const auto segment = static_cast<std::int64_t>(Sample(bag) >> sample_bits);
    return segment * num_features + (bag & ((std::uint32_t{1} << feature_bits) - 1));
  }
  std::int64_t SampleInSegment(std::uint32_t bag) const {
    return static_cast<std::int64_t>(Sample(bag) & ((std::uint64_t{1} << sample_bits) - 1));
  }
};

/// BagCode's sample_bits, the same for all tables of a backward: what the longest segment needs.
inline int SampleBits(std::span<const BagGradients> tables) {
  std::int64_t longest = 1;
  for (const BagGradients& input : tables) {
    for (std::int64_t s = 0; s < input.segments; ++s) longest = std::max(longest, input.samples(s));
  }
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(longest - 1)));
}

}  // namespace hotrow
