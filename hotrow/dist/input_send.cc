// What leaves: packs of lengths, ids and weights, one for each set of receivers.

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/dist/input_slot.h"

namespace hotrow {
namespace {

constexpr std::int64_t kIdsACopy = 1 << 16;

void Copy(const PackCopy& copy, int id_bytes) {
  if (id_bytes == 8) {
    std::copy_n(copy.ids, copy.count, reinterpret_cast<std::int64_t*>(copy.to));
  } else {
    auto* to = reinterpret_cast<std::int32_t*>(copy.to);
    for (std::int64_t i = 0; i < copy.count; ++i) to[i] = static_cast<std::int32_t>(copy.ids[i]);
  }
  if (copy.weights != nullptr) std::copy_n(copy.weights, copy.count, copy.weights_to);
}

}  // namespace

// Sizes the packs but for the counts of bucketized features, and copies the lengths that are known.
void InputDist::PlacePacks(Slot& slot, const KeyedJaggedTensor& batch) {
  const std::int64_t samples = batch.batch_size();
  for (Pack& pack : slot.packs) {
    const std::vector<std::int64_t>& features = features_of_rank_[pack.rank];
    const auto jagged =
        std::count_if(features.begin(), features.end(), [&](std::int64_t f) { return IsJagged(slot, f); });
    pack.lengths.EnsureSize(1 + jagged * samples);
    pack.lengths[0] = slot.weighted ? 1 : 0;
    std::int32_t* lengths = pack.lengths.data() + 1;
    pack.lengths_of.assign(features.size(), nullptr);
    pack.counts.assign(features.size(), 0);
    for (std::size_t k = 0; k < features.size(); ++k) {
      const std::int64_t f = features[k];
      if (!routes_[Index(f)].split) pack.counts[k] = batch.feature(f).num_ids();
      if (!IsJagged(slot, f)) continue;
      pack.lengths_of[k] = lengths;
      if (!routes_[Index(f)].split && samples > 0)
        std::copy_n(batch.lengths().data() + f * samples, samples, lengths);
      lengths += samples;
    }
  }
}

// Lengths and counts of the features that are split.
void InputDist::BucketizeLengths(Slot& slot, const KeyedJaggedTensor& batch) {
  slot.bucketized.clear();
  for (std::size_t f = 0; f < routes_.size(); ++f) {
    if (!routes_[f].split) continue;
    slot.bucketized.push_back({batch.feature(static_cast<std::int64_t>(f)), routes_[f].rows.block_size,
                               std::vector<BucketPlace>(Index(routes_[f].buckets))});
  }
  for (const SplitPlace& at : slot.split_places) {
    if (!at.repeat) slot.bucketized[at.split].buckets[at.bucket].lengths = at.pack->lengths_of[at.place];
  }
  slot.bucketizer.Count(slot.bucketized, pool_);
  for (const SplitPlace& at : slot.split_places) {
    const BucketPlace& bucket = slot.bucketized[at.split].buckets[at.bucket];
    at.pack->counts[at.place] = bucket.count;
    if (at.repeat && batch.batch_size() > 0)
      std::copy_n(bucket.lengths, batch.batch_size(), at.pack->lengths_of[at.place]);
  }
}

void InputDist::SizePayloads(Slot& slot) {
  for (Pack& pack : slot.packs) {
    pack.first_id.assign(1, 0);
    for (const std::int64_t count : pack.counts) pack.first_id.push_back(pack.first_id.back() + count);
    const std::int64_t ids = pack.first_id.back();
    pack.payload.EnsureSize(ids * (id_bytes_ + (slot.weighted ? kWeightBytes : 0)));
  }
}

// Where a feature's ids and weights begin in a pack.
std::byte* InputDist::IdsAt(Pack& pack, std::size_t place) const {
  return pack.payload.data() + pack.first_id[place] * id_bytes_;
}
float* InputDist::WeightsAt(Pack& pack, std::size_t place) const {
  return reinterpret_cast<float*>(pack.payload.data() + pack.first_id.back() * id_bytes_) +
         pack.first_id[place];
}

void InputDist::CopyWholeFeatures(Slot& slot, const KeyedJaggedTensor& batch) {
  slot.copies.clear();
  for (Pack& pack : slot.packs) {
    const std::vector<std::int64_t>& features = features_of_rank_[pack.rank];
    for (std::size_t k = 0; k < features.size(); ++k) {
      if (routes_[Index(features[k])].split) continue;
      const FeatureBags bags = batch.feature(features[k]);
      for (std::int64_t first = 0; first < pack.counts[k]; first += kIdsACopy) {
        slot.copies.push_back({bags.ids.data() + first, slot.weighted ? bags.weights.data() + first : nullptr,
                               std::min(kIdsACopy, pack.counts[k] - first),
                               IdsAt(pack, k) + first * id_bytes_, WeightsAt(pack, k) + first});
      }
    }
  }
  pool_.Run(static_cast<std::int64_t>(slot.copies.size()),
            [&](std::int64_t task, int) { Copy(slot.copies[Index(task)], id_bytes_); });
}

void InputDist::ScatterSplitFeatures(Slot& slot) {
  for (const SplitPlace& at : slot.split_places) {
    if (at.repeat) continue;
    BucketPlace& bucket = slot.bucketized[at.split].buckets[at.bucket];
    bucket.ids = IdsAt(*at.pack, at.place);
    bucket.weights = WeightsAt(*at.pack, at.place);
  }
  slot.bucketizer.Scatter(slot.bucketized, id_bytes_, pool_);
  pool_.Run(static_cast<std::int64_t>(slot.split_places.size()), [&](std::int64_t task, int) {
    const SplitPlace& at = slot.split_places[Index(task)];
    const BucketPlace& bucket = slot.bucketized[at.split].buckets[at.bucket];
    if (!at.repeat || bucket.count == 0) return;
    std::copy_n(bucket.ids, bucket.count * id_bytes_, IdsAt(*at.pack, at.place));
    if (slot.weighted) std::copy_n(bucket.weights, bucket.count, WeightsAt(*at.pack, at.place));
  });
}

void InputDist::StartLengths(Slot& slot) {
  const auto& features = features_of_rank_[self()];
  const auto jagged =
      std::count_if(features.begin(), features.end(), [&](std::int64_t f) { return IsJagged(slot, f); });
  slot.first_length.clear();
  std::int64_t total = 0;
  for (const std::int64_t samples : slot.samples) {
    slot.first_length.push_back(total);
    total += 1 + jagged * samples;
  }
  slot.arrived_lengths.EnsureSize(total);
  slot.first_length.push_back(total);
  Parts<std::int32_t> parts(comm_);
  for (std::size_t r = 0; r < ranks(); ++r) {
    Pack& pack = slot.packs[pack_of_rank_[r]];
    parts.Send(static_cast<int>(r), pack.lengths.span());
    parts.Receive(static_cast<int>(r),
                  slot.arrived_lengths.span().subspan(
                      Index(slot.first_length[r]), Index(slot.first_length[r + 1] - slot.first_length[r])));
    if (r != self()) sent_bytes_ += static_cast<std::int64_t>(pack.lengths.span().size_bytes());
  }
  slot.lengths_request = parts.Start(comm_);
  slot.lengths_pending = true;
}

}  // namespace hotrow
