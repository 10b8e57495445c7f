#pragma once
// What a backward starts from: one table's bags, and the gradients of what was pooled from them.

#include <cstdint>
#include <vector>

#include "hotrow/embed/table.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// A feature's bags; the gradient of sample s's pooled row is at gradient[s * stride], as wide as the table.
struct FeatureGradient {
  FeatureBags bags;
  const float* gradient = nullptr;
  std::int64_t stride = 0;  ///< floats
};

/// All features of one table, in the table's order, with equally many samples each.
struct BagGradients {
  EmbeddingTable* table = nullptr;
  std::vector<FeatureGradient> features;
};

}  // namespace hotrow
