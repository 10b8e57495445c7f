#pragma once
// KeyedJaggedTensor: the sparse half of a batch, TorchRec's structure of the same name.
//
// For F features (keys) and B samples it holds F x B bags of ids. Layout [feature][sample]: all bags of
// feature 0, then all of feature 1. A bag's size comes from `lengths` [F x B] int32, or, where every bag of a
// feature has the same number of ids (MLPerf's multi-hot), from one fixed size a feature; then no lengths
// exist and nothing about them is ever recomputed or sent. Ids are int64 row numbers of the feature's table.
// An id of -1 is one that the bounds check skipped: it contributes nothing, and MEAN's divisor does not count
// it. Optional fp32 weights, one an id, make SUM a weighted sum.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {

/// One feature's bags, as they lie in memory. A view: valid while what it views is unchanged.
struct FeatureBags {
  std::span<const std::int64_t> ids;
  std::span<const std::int32_t> narrow_ids;  ///< in place of `ids` where ids came over a wire of 4 bytes each
  std::span<const float> weights;            ///< empty, or one an id
  std::span<const std::int64_t>
      offsets;                  ///< [samples + 1] into ids, offsets[0] = 0; empty when the size is fixed
  std::int32_t fixed_size = 0;  ///< ids a bag when offsets is empty
  std::int64_t samples = 0;

  std::int64_t num_ids() const { return static_cast<std::int64_t>(ids.size() + narrow_ids.size()); }
  std::int64_t begin(std::int64_t sample) const {
    return offsets.empty() ? sample * fixed_size : offsets[Index(sample)];
  }
  std::int64_t end(std::int64_t sample) const { return begin(sample + 1); }
};

class KeyedJaggedTensor {
 public:
  KeyedJaggedTensor() = default;
  /// Bags of varying size. Call ResetJagged to size it for a batch.
  explicit KeyedJaggedTensor(std::vector<std::string> keys);
  /// Bags of fixed size: fixed_sizes[f] >= 0 ids a sample.
  KeyedJaggedTensor(std::vector<std::string> keys, std::vector<std::int32_t> fixed_sizes);

  /// Sizes a fixed-size tensor for `batch_size` samples; ids, and weights where it has them, are then written
  /// through mutable_values() and mutable_weights(). Keeps capacity.
  void ResetFixed(std::int64_t batch_size, bool weighted = false);
  /// Takes over lengths [F x B] and values (and weights, or none). Builds the offsets. Throws Error where a
  /// length is negative or the lengths' sum is not the number of values, naming the feature and sample; the
  /// tensor is then as it was.
  void ResetJagged(std::int64_t batch_size, std::span<const std::int32_t> lengths,
                   std::span<const std::int64_t> values, std::span<const float> weights = {});

  /// Becomes `samples` of another tensor's, of the same keys and kind, which may be none. Keeps capacity.
  /// Time: that of copying them.
  void AssignSlice(const KeyedJaggedTensor& of, Slice samples);

  const std::vector<std::string>& keys() const { return keys_; }
  std::int64_t num_features() const { return static_cast<std::int64_t>(keys_.size()); }
  std::int64_t batch_size() const { return batch_size_; }
  bool is_fixed() const { return fixed_; }
  bool is_weighted() const { return weighted_; }
  std::span<const std::int32_t> fixed_sizes() const { return fixed_sizes_; }
  std::span<const std::int32_t> lengths() const { return lengths_; }  ///< [F x B]; empty when fixed
  std::span<const std::int64_t> values() const { return values_; }
  std::span<const float> weights() const { return weights_; }
  std::span<std::int64_t> mutable_values() { return values_; }
  std::span<float> mutable_weights() { return weights_; }

  /// Feature f's bags. O(1).
  FeatureBags feature(std::int64_t f) const;

 private:
  std::vector<std::string> keys_;
  std::vector<std::int32_t> fixed_sizes_;
  bool fixed_ = false;
  bool weighted_ = false;
  std::int64_t batch_size_ = 0;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> offsets_;       // jagged: per feature [B + 1], relative to the feature's first id
  std::vector<std::int64_t> starts_ = {0};  // [F + 1] first id of each feature
  std::vector<std::int64_t> values_;
  std::vector<float> weights_;
};

/// What to do with an id outside its table.
enum class BadIds { kError, kSkip, kWrap };

/// Parses "error", "skip", "wrap"; throws Error listing them.
BadIds ParseBadIds(const std::string& text);

/// Checks every id of the batch against its feature's number of rows (rows[f]), in place. kError: throws
/// Error naming feature, sample (first_sample + its place in the batch), id and the valid range. kSkip: the
/// id becomes -1. kWrap: it becomes id modulo rows (non-negative). Returns how many ids were bad. -1 is bad
/// like any other id out of range.
std::int64_t CheckIds(KeyedJaggedTensor& batch, std::span<const std::int64_t> rows, BadIds mode,
                      std::int64_t first_sample);

}  // namespace hotrow
