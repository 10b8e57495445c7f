#pragma once
// Samples as numbers, one after another in memory: what an encoder makes of a file's records, and what
// batches are gathered from.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/data/chunked_list.h"

namespace hotrow {

/// A growing list of ids that takes 4 bytes each as long as all fit into 32 unsigned bits, 8 from then on.
class CompactIds {
 public:
  explicit CompactIds(const BeforeGrowth& before_growth = {})
      : narrow_(before_growth), wide_(before_growth) {}

  void Append(std::int64_t id) {
    if (wide_.empty() && id == static_cast<std::int64_t>(static_cast<std::uint32_t>(id))) {
      narrow_.Append(static_cast<std::uint32_t>(id));
    } else {
      AppendWide(id);
    }
  }
  std::int64_t operator[](std::size_t i) const { return wide_.empty() ? narrow_[i] : wide_[i]; }
  std::size_t size() const { return wide_.empty() ? narrow_.size() : wide_.size(); }
  void Clear() {
    narrow_.Clear();
    wide_.Clear();
  }

 private:
  void AppendWide(std::int64_t id);
  ChunkedList<std::uint32_t> narrow_;
  ChunkedList<std::int64_t> wide_;
};

/// Build a sample by AddLabel (where the data has labels), AddSampleWeight (where it has weighted_samples),
/// AddDense num_dense times, and for every feature in order AddId for each id, then EndBag; then EndSample.
/// What reads a format that is no text makes samples the same way.
class EncodedSamples {
 public:
  /// `before_growth`: what it throws comes out of the Add or EndBag that needs more memory; the samples can
  /// then only be cleared.
  explicit EncodedSamples(const DataDescription& description, const BeforeGrowth& before_growth = {});

  void AddLabel(float label) { labels_.Append(label); }
  void AddSampleWeight(float weight) { sample_weights_.Append(weight); }
  void AddDense(float value) { dense_.Append(value); }
  /// `weight` is kept where the description has weighted_ids.
  void AddId(std::int64_t id, float weight = 1.0F) {
    ids_.Append(id);
    if (weighted_ids_) id_weights_.Append(weight);
  }
  void EndBag() {
    if (!all_fixed_) bag_ends_.Append(static_cast<std::int64_t>(ids_.size()));
  }
  /// Throws std::logic_error when the sample is not what the description says.
  void EndSample();

  /// Drops all samples, keeps the memory.
  void Clear();
  std::int64_t size() const { return size_; }

  /// Makes the batch of samples order[0], order[1], …, or first, first + 1, … when `order` is empty. Reuses
  /// the batch's memory; first_sample is set to `first`.
  void Gather(std::int64_t first, std::int64_t count, std::span<const std::uint32_t> order, Batch& batch);

 private:
  void GatherFixed(std::span<const std::uint32_t> samples, KeyedJaggedTensor& out) const;
  void GatherJagged(std::span<const std::uint32_t> samples, KeyedJaggedTensor& out);
  std::size_t BagBegin(std::size_t bag) const {
    return bag == 0 ? 0 : static_cast<std::size_t>(bag_ends_[bag - 1]);
  }

  std::vector<std::string> names_;
  std::vector<std::int32_t> fixed_sizes_;
  bool all_fixed_ = true;
  bool weighted_samples_;
  bool weighted_ids_;
  std::int64_t num_dense_ = 0;
  std::int64_t ids_a_sample_ = 0;  // when all are fixed
  std::int64_t size_ = 0;
  ChunkedList<float> dense_;             // [size, num_dense]
  ChunkedList<float> labels_;            // [size] or empty
  ChunkedList<float> sample_weights_;    // [size] or empty
  CompactIds ids_;                       // [size][feature][position]
  ChunkedList<float> id_weights_;        // as ids_, or empty
  ChunkedList<std::int64_t> bag_ends_;   // [size, features], when not all are fixed
  std::vector<std::uint32_t> in_order_;  // scratch of Gather
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> values_;
  std::vector<float> value_weights_;
};

}  // namespace hotrow
