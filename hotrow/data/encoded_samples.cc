#include "hotrow/data/encoded_samples.h"

#include <algorithm>
#include <numeric>

#include "hotrow/base/error.h"

namespace hotrow {

void CompactIds::AppendWide(std::int64_t id) {
  if (wide_.empty()) {
    for (std::size_t i = 0; i < narrow_.size(); ++i) wide_.Append(narrow_[i]);
    narrow_.Free();
  }
  wide_.Append(id);
}

EncodedSamples::EncodedSamples(const DataDescription& description, const BeforeGrowth& before_growth)
    : weighted_samples_(description.weighted_samples),
      weighted_ids_(description.weighted_ids),
      num_dense_(description.num_dense),
      dense_(before_growth),
      labels_(before_growth),
      sample_weights_(before_growth),
      ids_(before_growth),
      id_weights_(before_growth),
      bag_ends_(before_growth) {
  for (const SparseFeature& feature : description.features) {
    names_.push_back(feature.name);
    fixed_sizes_.push_back(feature.fixed_size);
    all_fixed_ = all_fixed_ && feature.fixed_size > 0;
    ids_a_sample_ += feature.fixed_size;
  }
}

void EncodedSamples::EndSample() {
  ++size_;
  const auto n = static_cast<std::size_t>(size_);
  HOTROW_CHECK(dense_.size() == n * static_cast<std::size_t>(num_dense_));
  HOTROW_CHECK(labels_.empty() || labels_.size() == n);
  HOTROW_CHECK(sample_weights_.size() == (weighted_samples_ ? n : 0));
  HOTROW_CHECK(all_fixed_ ? ids_.size() == n * static_cast<std::size_t>(ids_a_sample_)
                          : bag_ends_.size() == n * names_.size());
}

void EncodedSamples::Clear() {
  size_ = 0;
  dense_.Clear();
  labels_.Clear();
  sample_weights_.Clear();
  ids_.Clear();
  id_weights_.Clear();
  bag_ends_.Clear();
}

void EncodedSamples::Gather(std::int64_t first, std::int64_t count, std::span<const std::uint32_t> order,
                            Batch& batch) {
  if (order.empty()) {
    in_order_.resize(static_cast<std::size_t>(count));
    std::iota(in_order_.begin(), in_order_.end(), static_cast<std::uint32_t>(first));
    order = in_order_;
  }
  HOTROW_CHECK(static_cast<std::int64_t>(order.size()) == count);
  batch.first_sample = first;
  batch.size = count;
  const auto width = static_cast<std::size_t>(num_dense_);
  batch.dense.resize(order.size() * width);
  batch.labels.resize(labels_.empty() ? 0 : order.size());
  batch.sample_weights.resize(weighted_samples_ ? order.size() : 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    dense_.Copy(order[i] * width, width, batch.dense.data() + i * width);
    if (!labels_.empty()) batch.labels[i] = labels_[order[i]];
    if (weighted_samples_) batch.sample_weights[i] = sample_weights_[order[i]];
  }
  if (all_fixed_) {
    GatherFixed(order, batch.sparse);
  } else {
    GatherJagged(order, batch.sparse);
  }
}

void EncodedSamples::GatherFixed(std::span<const std::uint32_t> samples, KeyedJaggedTensor& out) const {
  if (!out.is_fixed() || out.keys() != names_ || !std::ranges::equal(out.fixed_sizes(), fixed_sizes_)) {
    out = KeyedJaggedTensor(names_, fixed_sizes_);
  }
  out.ResetFixed(static_cast<std::int64_t>(samples.size()), weighted_ids_);
  std::int64_t* value = out.mutable_values().data();
  float* weight = out.mutable_weights().data();
  std::size_t offset = 0;
  for (const std::int32_t size : fixed_sizes_) {
    for (const std::uint32_t sample : samples) {
      const std::size_t begin =
          static_cast<std::size_t>(sample) * static_cast<std::size_t>(ids_a_sample_) + offset;
      for (std::size_t i = begin; i < begin + static_cast<std::size_t>(size); ++i) {
        *value++ = ids_[i];
        if (weighted_ids_) *weight++ = id_weights_[i];
      }
    }
    offset += static_cast<std::size_t>(size);
  }
}

void EncodedSamples::GatherJagged(std::span<const std::uint32_t> samples, KeyedJaggedTensor& out) {
  if (out.is_fixed() || out.keys() != names_) out = KeyedJaggedTensor(names_);
  lengths_.clear();
  values_.clear();
  value_weights_.clear();
  for (std::size_t f = 0; f < names_.size(); ++f) {
    for (const std::uint32_t sample : samples) {
      const std::size_t bag = sample * names_.size() + f;
      const std::size_t begin = BagBegin(bag);
      const auto end = static_cast<std::size_t>(bag_ends_[bag]);
      lengths_.push_back(static_cast<std::int32_t>(end - begin));
      for (std::size_t i = begin; i < end; ++i) {
        values_.push_back(ids_[i]);
        if (weighted_ids_) value_weights_.push_back(id_weights_[i]);
      }
    }
  }
  out.ResetJagged(static_cast<std::int64_t>(samples.size()), lengths_, values_, value_weights_);
}

}  // namespace hotrow
