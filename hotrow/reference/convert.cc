#include "hotrow/reference/convert.h"

#include <utility>

namespace hotrow::reference {

Bags ToBags(const KeyedJaggedTensor& batch, std::int64_t feature) {
  const std::int64_t samples = batch.batch_size();
  Bags bags;
  std::size_t at = 0;
  for (std::int64_t f = 0; f <= feature; ++f) {
    for (std::int64_t s = 0; s < samples; ++s) {
      const std::int32_t length = batch.is_fixed()
                                      ? batch.fixed_sizes()[static_cast<std::size_t>(f)]
                                      : batch.lengths()[static_cast<std::size_t>(f * samples + s)];
      Bag bag;
      for (std::int32_t i = 0; i < length; ++i, ++at) {
        bag.ids.push_back(batch.values()[at]);
        if (batch.is_weighted()) bag.weights.push_back(static_cast<double>(batch.weights()[at]));
      }
      if (f == feature) bags.push_back(std::move(bag));
    }
  }
  return bags;
}

Batch ToReference(const hotrow::Batch& batch) {
  Batch out;
  out.dense.assign(batch.dense.begin(), batch.dense.end());
  out.labels.assign(batch.labels.begin(), batch.labels.end());
  out.sample_weights.assign(batch.sample_weights.begin(), batch.sample_weights.end());
  for (std::int64_t f = 0; f < batch.sparse.num_features(); ++f) {
    out.features.push_back(ToBags(batch.sparse, f));
  }
  return out;
}

Tensor ToTensor(std::vector<std::int64_t> shape, std::span<const float> values) {
  return {std::move(shape), std::vector<double>(values.begin(), values.end())};
}

}  // namespace hotrow::reference
