#pragma once
// Obvious versions of what is neither model nor optimizer.

#include <cstdint>
#include <vector>

namespace hotrow::reference {

/// ROC AUC by definition: the share of (positive, negative) pairs in which the positive scores higher, a tie
/// counting half. O(n^2).
double RocAuc(const std::vector<float>& scores, const std::vector<std::int32_t>& labels);

struct Jagged {
  std::vector<std::int32_t> lengths;  ///< [rows, bags]
  std::vector<std::int64_t> values;
};

/// Output row r is input row order[r]; a row is `bags` lengths and their values.
Jagged PermuteRows(const Jagged& in, std::int64_t bags, const std::vector<std::int32_t>& order);

/// Row-wise sharding of ids [feature, sample]: id goes to owner id / block_sizes[feature] as id %
/// block_sizes[feature]. Output rows are [owner, feature].
Jagged Bucketize(const Jagged& in, std::int64_t samples, std::int64_t owners,
                 const std::vector<std::int64_t>& block_sizes);

}  // namespace hotrow::reference
