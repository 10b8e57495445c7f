#include "hotrow/dist/input_send.h"

#include <algorithm>

#include "hotrow/base/index.h"
#include "hotrow/dist/recat.h"

namespace hotrow {
namespace {

constexpr std::int64_t kIdsACopy = 1 << 16;
constexpr std::int64_t kWeightBytes = sizeof(float);

}  // namespace

InputSend::InputSend(const InputRoutes& routes) : routes_(routes), packs_(routes.rank_of_pack.size()) {}

std::span<const std::int32_t> InputSend::lengths(std::size_t rank) const {
  return packs_[routes_.pack_of_rank[rank]].lengths.span();
}
std::span<const std::byte> InputSend::payload(std::size_t rank) const {
  return packs_[routes_.pack_of_rank[rank]].payload.span();
}

const std::vector<std::int64_t>& InputSend::FeaturesOf(std::size_t pack) const {
  return routes_.features_of_rank[routes_.rank_of_pack[pack]];
}

void InputSend::Fill(const KeyedJaggedTensor& batch, std::span<const std::int32_t> bag_sizes,
                     ThreadPool& pool) {
  weighted_ = batch.is_weighted();
  PlaceLengths(batch, bag_sizes);
  BucketizeLengths(batch, pool);
  SizePayloads();
  CopyWholeFeatures(batch, pool);
  ScatterSplitFeatures(pool);
}

// Copies the lengths and counts that are known: all but those of bucketized features.
void InputSend::PlaceLengths(const KeyedJaggedTensor& batch, std::span<const std::int32_t> bag_sizes) {
  const std::int64_t samples = batch.batch_size();
  const auto jagged = [&](std::int64_t f) { return bag_sizes[Index(f)] == RecatShape::kJagged; };
  for (std::size_t p = 0; p < packs_.size(); ++p) {
    Pack& pack = packs_[p];
    const std::vector<std::int64_t>& features = FeaturesOf(p);
    pack.lengths.EnsureSize(1 + std::count_if(features.begin(), features.end(), jagged) * samples);
    pack.lengths[0] = weighted_ ? 1 : 0;
    std::int32_t* lengths = pack.lengths.data() + 1;
    pack.lengths_of.assign(features.size(), nullptr);
    pack.counts.assign(features.size(), 0);
    for (std::size_t k = 0; k < features.size(); ++k) {
      const std::int64_t f = features[k];
      const bool split = routes_.features[Index(f)].split;
      if (!split) pack.counts[k] = batch.feature(f).num_ids();
      if (!jagged(f)) continue;
      pack.lengths_of[k] = lengths;
      if (!split && samples > 0) std::copy_n(batch.lengths().data() + f * samples, samples, lengths);
      lengths += samples;
    }
  }
}

// Lengths and counts of the features that are split.
void InputSend::BucketizeLengths(const KeyedJaggedTensor& batch, ThreadPool& pool) {
  bucketized_.clear();
  for (std::size_t f = 0; f < routes_.features.size(); ++f) {
    const FeatureRoute& route = routes_.features[f];
    if (!route.split) continue;
    bucketized_.push_back({batch.feature(static_cast<std::int64_t>(f)), route.rows.block_size,
                           std::vector<BucketPlace>(Index(route.buckets))});
  }
  for (const BucketRoute& at : routes_.buckets) {
    if (!at.repeat) {
      bucketized_[at.split].buckets[at.bucket].lengths = packs_[at.pack].lengths_of[at.place];
    }
  }
  bucketizer_.Count(bucketized_, pool);
  for (const BucketRoute& at : routes_.buckets) {
    const BucketPlace& bucket = bucketized_[at.split].buckets[at.bucket];
    packs_[at.pack].counts[at.place] = bucket.count;
    if (at.repeat && batch.batch_size() > 0)
      std::copy_n(bucket.lengths, batch.batch_size(), packs_[at.pack].lengths_of[at.place]);
  }
}

void InputSend::SizePayloads() {
  for (Pack& pack : packs_) {
    pack.first_id.assign(1, 0);
    for (const std::int64_t count : pack.counts) pack.first_id.push_back(pack.first_id.back() + count);
    pack.payload.EnsureSize(pack.first_id.back() * (routes_.id_bytes + (weighted_ ? kWeightBytes : 0)));
  }
}

// Where a feature's ids and weights begin in a pack.
std::byte* InputSend::IdsAt(Pack& pack, std::size_t place) const {
  return pack.payload.data() + pack.first_id[place] * routes_.id_bytes;
}
float* InputSend::WeightsAt(Pack& pack, std::size_t place) const {
  return reinterpret_cast<float*>(pack.payload.data() + pack.first_id.back() * routes_.id_bytes) +
         pack.first_id[place];
}

void InputSend::CopyWholeFeatures(const KeyedJaggedTensor& batch, ThreadPool& pool) {
  copies_.clear();
  for (std::size_t p = 0; p < packs_.size(); ++p) {
    Pack& pack = packs_[p];
    const std::vector<std::int64_t>& features = FeaturesOf(p);
    for (std::size_t k = 0; k < features.size(); ++k) {
      if (routes_.features[Index(features[k])].split) continue;
      const FeatureBags bags = batch.feature(features[k]);
      for (std::int64_t first = 0; first < pack.counts[k]; first += kIdsACopy) {
        copies_.push_back({bags.ids.data() + first, weighted_ ? bags.weights.data() + first : nullptr,
                           std::min(kIdsACopy, pack.counts[k] - first),
                           IdsAt(pack, k) + first * routes_.id_bytes, WeightsAt(pack, k) + first});
      }
    }
  }
  pool.Run(static_cast<std::int64_t>(copies_.size()),
           [&](std::int64_t task, int) { CopyPart(copies_[Index(task)]); });
}

void InputSend::CopyPart(const Copy& copy) const {
  if (routes_.id_bytes == 8) {
    std::copy_n(copy.ids, copy.count, reinterpret_cast<std::int64_t*>(copy.to));
  } else {
    auto* to = reinterpret_cast<std::int32_t*>(copy.to);
    for (std::int64_t i = 0; i < copy.count; ++i) to[i] = static_cast<std::int32_t>(copy.ids[i]);
  }
  if (copy.weights != nullptr) std::copy_n(copy.weights, copy.count, copy.weights_to);
}

void InputSend::ScatterSplitFeatures(ThreadPool& pool) {
  for (const BucketRoute& at : routes_.buckets) {
    if (at.repeat) continue;
    BucketPlace& bucket = bucketized_[at.split].buckets[at.bucket];
    bucket.ids = IdsAt(packs_[at.pack], at.place);
    bucket.weights = WeightsAt(packs_[at.pack], at.place);
  }
  bucketizer_.Scatter(bucketized_, routes_.id_bytes, pool);
  pool.Run(static_cast<std::int64_t>(routes_.buckets.size()), [&](std::int64_t task, int) {
    const BucketRoute& at = routes_.buckets[Index(task)];
    const BucketPlace& bucket = bucketized_[at.split].buckets[at.bucket];
    if (!at.repeat || bucket.count == 0) return;
    Pack& pack = packs_[at.pack];
    std::copy_n(bucket.ids, bucket.count * routes_.id_bytes, IdsAt(pack, at.place));
    if (weighted_) std::copy_n(bucket.weights, bucket.count, WeightsAt(pack, at.place));
  });
}

}  // namespace hotrow
