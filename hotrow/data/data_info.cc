#include "hotrow/data/data_info.h"

#include <algorithm>
#include <limits>

namespace hotrow {
namespace {

constexpr std::int64_t kBatch = 4096;

void AddDense(const Batch& batch, std::vector<DenseInfo>& dense) {
  const float* value = batch.dense.data();
  for (std::int64_t sample = 0; sample < batch.size; ++sample) {
    for (DenseInfo& column : dense) {
      const double x = *value++;
      column.min = std::min(column.min, x);
      column.max = std::max(column.max, x);
      column.mean += x;  // a sum until the end
    }
  }
}

void AddFeature(const FeatureBags& bags, FeatureInfo& info, std::vector<bool>& seen) {
  for (std::int64_t sample = 0; sample < bags.samples; ++sample) {
    const std::int64_t size = bags.end(sample) - bags.begin(sample);
    info.min_bag = std::min(info.min_bag, size);
    info.max_bag = std::max(info.max_bag, size);
  }
  info.ids += static_cast<std::int64_t>(bags.ids.size());
  for (const std::int64_t id : bags.ids) {
    if (id < 0 || id >= info.rows) {
      ++info.out_of_range;
      continue;
    }
    const auto row = static_cast<std::size_t>(id);
    if (row >= seen.size()) seen.resize(std::min(2 * row + 1, static_cast<std::size_t>(info.rows)));
    if (!seen[row]) ++info.distinct_ids;
    seen[row] = true;
  }
}

}  // namespace

DataInfo InspectData(BatchSource& source) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DataDescription& description = source.description();
  DataInfo info;
  info.dense.assign(static_cast<std::size_t>(description.num_dense), {kInfinity, 0.0, -kInfinity});
  for (const SparseFeature& feature : description.features) {
    FeatureInfo& added = info.features.emplace_back();
    added.name = feature.name;
    added.rows = feature.rows;
    added.min_bag = std::numeric_limits<std::int64_t>::max();
  }
  std::vector<std::vector<bool>> seen(info.features.size());
  double clicks = 0.0;
  Batch batch;
  source.StartEpoch(0);
  while (source.Next(kBatch, batch)) {
    info.samples += batch.size;
    for (const float label : batch.labels) clicks += label;
    AddDense(batch, info.dense);
    for (std::size_t f = 0; f < info.features.size(); ++f) {
      AddFeature(batch.sparse.feature(static_cast<std::int64_t>(f)), info.features[f], seen[f]);
    }
  }
  const auto samples = static_cast<double>(info.samples);
  for (DenseInfo& column : info.dense) column.mean /= samples;
  if (description.has_labels) info.label_rate = clicks / samples;
  info.unknown = source.Unknown();
  return info;
}

}  // namespace hotrow
