// What arrives: blocks of ids, one for each source and feature.

#include <algorithm>
#include <numeric>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/dist/input_slot.h"

namespace hotrow {
namespace {

constexpr std::int64_t kLineBytes = 64;

}  // namespace

// Counts of every block that arrives, from the lengths or the fixed sizes.
void InputDist::CountArrival(Slot& slot) {
  const auto& features = features_of_rank_[self()];
  const std::size_t blocks = ranks() * features.size();
  slot.received_sizes.clear();
  for (const std::int64_t f : features) slot.received_sizes.push_back(slot.sizes[Index(f)]);
  slot.lengths_of.assign(blocks, nullptr);
  slot.counts.assign(blocks, 0);
  slot.source_weighted.assign(ranks(), slot.weighted);
  for (std::size_t s = 0; s < ranks(); ++s) {
    const std::int32_t* lengths = nullptr;
    if (slot.has_lengths) {
      lengths = slot.arrived_lengths.data() + slot.first_length[s];
      slot.source_weighted[s] = *lengths++ != 0;
    }
    for (std::size_t k = 0; k < features.size(); ++k) {
      if (slot.received_sizes[k] != RecatShape::kJagged) continue;
      slot.lengths_of[s * features.size() + k] = lengths;
      lengths += slot.samples[s];
    }
  }
  pool_.Run(static_cast<std::int64_t>(blocks), [&](std::int64_t task, int) {
    const std::size_t block = Index(task);
    const std::int64_t samples = slot.samples[block / features.size()];
    const std::int32_t* lengths = slot.lengths_of[block];
    slot.counts[block] = lengths == nullptr ? samples * slot.received_sizes[block % features.size()]
                                            : std::accumulate(lengths, lengths + samples, std::int64_t{0});
  });
  slot.source_counts.assign(ranks(), 0);
  for (std::size_t block = 0; block < blocks; ++block)
    slot.source_counts[block / features.size()] += slot.counts[block];
}

void InputDist::StartPayload(Slot& slot) {
  CountArrival(slot);
  const auto bytes = [&](std::size_t s) {
    return slot.source_counts[s] * (id_bytes_ + (slot.source_weighted[s] ? kWeightBytes : 0));
  };
  std::int64_t total = 0;
  slot.first_byte.clear();
  for (std::size_t s = 0; s < ranks(); ++s) {
    slot.first_byte.push_back(total);
    total += RoundUp(bytes(s), kLineBytes);
  }
  slot.arrived.EnsureSize(total);
  Parts<std::byte> parts(comm_);
  for (std::size_t r = 0; r < ranks(); ++r) {
    Pack& pack = slot.packs[pack_of_rank_[r]];
    parts.Send(static_cast<int>(r), pack.payload.span());
    parts.Receive(static_cast<int>(r),
                  slot.arrived.span().subspan(Index(slot.first_byte[r]), Index(bytes(r))));
    if (r != self()) sent_bytes_ += pack.payload.size();
  }
  slot.payload_request = parts.Start(comm_);
}

void InputDist::MakeOffsets(Slot& slot) {
  const std::size_t features = features_of_rank_[self()].size();
  const std::size_t blocks = slot.counts.size();
  slot.first_offset.assign(blocks, 0);
  std::int64_t total = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    if (slot.lengths_of[block] == nullptr) continue;
    slot.first_offset[block] = total;
    total += slot.samples[block / features] + 1;
  }
  slot.offsets.EnsureSize(total);
  pool_.Run(static_cast<std::int64_t>(blocks), [&](std::int64_t task, int) {
    const std::size_t block = Index(task);
    const std::int32_t* lengths = slot.lengths_of[block];
    if (lengths == nullptr) return;
    std::int64_t* offsets = slot.offsets.data() + slot.first_offset[block];
    offsets[0] = 0;
    for (std::int64_t b = 0; b < slot.samples[block / features]; ++b)
      offsets[b + 1] = offsets[b] + lengths[b];
  });
  slot.bags.resize(blocks);
}

void InputDist::ViewBlock(Slot& slot, std::size_t block, const std::byte* ids, const float* weights) {
  const std::size_t features = features_of_rank_[self()].size();
  const auto count = Index(slot.counts[block]);
  FeatureBags bags;
  bags.samples = slot.samples[block / features];
  if (id_bytes_ == 4) {
    bags.narrow_ids = {reinterpret_cast<const std::int32_t*>(ids), count};
  } else {
    bags.ids = {reinterpret_cast<const std::int64_t*>(ids), count};
  }
  if (weights != nullptr) bags.weights = {weights, count};
  if (slot.lengths_of[block] == nullptr) {
    bags.fixed_size = slot.received_sizes[block % features];
  } else {
    bags.offsets = {slot.offsets.data() + slot.first_offset[block], Index(bags.samples + 1)};
  }
  slot.bags[block] = bags;
}

std::int64_t InputDist::Recat(int slot_index) {
  if (engines_->ids.mode() == RecatMode::kNone) return 0;
  Slot& slot = *slots_[Index(slot_index)];
  const std::size_t features = features_of_rank_[self()].size();
  const RecatShape shape{static_cast<std::int64_t>(ranks()),
                         static_cast<std::int64_t>(features),
                         slot.samples,
                         slot.received_sizes,
                         slot.counts,
                         slot.lengths_of};
  const std::int64_t ids =
      std::accumulate(slot.source_counts.begin(), slot.source_counts.end(), std::int64_t{0});
  slot.recat_ids.EnsureSize(ids * id_bytes_);
  slot.starts.clear();
  for (const std::int64_t byte : slot.first_byte) slot.starts.push_back(byte / id_bytes_);
  std::int64_t moved =
      engines_->ids.Run(shape, slot.starts, slot.arrived.data(), id_bytes_, slot.recat_ids.data(), pool_);

  bool weighted = false;
  for (std::size_t s = 0; s < ranks(); ++s)
    weighted = weighted || (slot.source_weighted[s] && slot.source_counts[s] > 0);
  if (weighted) {
    slot.recat_weights.EnsureSize(ids);
    for (std::size_t s = 0; s < ranks(); ++s) {
      HOTROW_CHECK(slot.source_weighted[s] || slot.source_counts[s] == 0);
      slot.starts[s] = (slot.first_byte[s] + slot.source_counts[s] * id_bytes_) / kWeightBytes;
    }
    moved += engines_->weights.Run(shape, slot.starts, slot.arrived.data(), kWeightBytes,
                                   reinterpret_cast<std::byte*>(slot.recat_weights.data()), pool_);
  }
  std::int64_t at = 0;
  for (std::size_t k = 0; k < features; ++k) {
    for (std::size_t s = 0; s < ranks(); ++s) {
      ViewBlock(slot, s * features + k, slot.recat_ids.data() + at * id_bytes_,
                weighted ? slot.recat_weights.data() + at : nullptr);
      at += slot.counts[s * features + k];
    }
  }
  return moved;
}

}  // namespace hotrow
