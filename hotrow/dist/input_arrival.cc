#include "hotrow/dist/input_arrival.h"

#include <algorithm>
#include <numeric>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kWeightBytes = sizeof(float);

}  // namespace

void InputArrival::Expect(std::span<const std::int64_t> samples, std::span<const std::int32_t> bag_sizes,
                          bool weighted) {
  samples_.assign(samples.begin(), samples.end());
  weighted_ = weighted;
  bag_sizes_.clear();
  for (const std::int64_t f : routes_.received()) bag_sizes_.push_back(bag_sizes[Index(f)]);
  const auto jagged = std::count(bag_sizes_.begin(), bag_sizes_.end(), RecatShape::kJagged);
  first_length_.assign(1, 0);
  for (const std::int64_t count : samples_) {
    first_length_.push_back(first_length_.back() + 1 + jagged * count);
  }
  lengths_.EnsureSize(first_length_.back());
}

std::span<std::int32_t> InputArrival::lengths(std::size_t source) {
  return lengths_.span().subspan(Index(first_length_[source]),
                                 Index(first_length_[source + 1] - first_length_[source]));
}

std::span<std::byte> InputArrival::payload(std::size_t source) {
  return payload_.span().subspan(Index(first_byte_[source]), Index(PayloadBytes(source)));
}

const FeatureBags& InputArrival::bags(std::int64_t index, int source) const {
  return bags_[Index(source) * features() + Index(index)];
}

std::int64_t InputArrival::PayloadBytes(std::size_t source) const {
  return source_counts_[source] * (routes_.id_bytes + (source_weighted_[source] ? kWeightBytes : 0));
}

void InputArrival::MakeRoom(bool has_lengths, ThreadPool& pool) {
  CountBlocks(has_lengths, pool);
  std::int64_t total = 0;
  first_byte_.clear();
  for (std::size_t s = 0; s < ranks(); ++s) {
    first_byte_.push_back(total);
    total += RoundUp(PayloadBytes(s), kLineBytes);
  }
  payload_.EnsureSize(total);
}

void InputArrival::CountBlocks(bool has_lengths, ThreadPool& pool) {
  const std::size_t blocks = ranks() * features();
  lengths_of_.assign(blocks, nullptr);
  counts_.assign(blocks, 0);
  source_weighted_.assign(ranks(), weighted_);
  for (std::size_t s = 0; has_lengths && s < ranks(); ++s) {
    const std::int32_t* lengths = lengths_.data() + first_length_[s];
    source_weighted_[s] = *lengths++ != 0;
    for (std::size_t k = 0; k < features(); ++k) {
      if (bag_sizes_[k] != RecatShape::kJagged) continue;
      lengths_of_[s * features() + k] = lengths;
      lengths += samples_[s];
    }
  }
  pool.Run(static_cast<std::int64_t>(blocks), [&](std::int64_t task, int) {
    const std::size_t block = Index(task);
    const std::int64_t samples = samples_[block / features()];
    const std::int32_t* lengths = lengths_of_[block];
    counts_[block] = lengths == nullptr ? samples * bag_sizes_[block % features()]
                                        : std::accumulate(lengths, lengths + samples, std::int64_t{0});
  });
  source_counts_.assign(ranks(), 0);
  for (std::size_t block = 0; block < blocks; ++block) source_counts_[block / features()] += counts_[block];
}

void InputArrival::MakeBags(ThreadPool& pool) {
  MakeOffsets(pool);
  bags_.resize(counts_.size());
  for (std::size_t s = 0; s < ranks(); ++s) {
    const std::byte* ids = payload_.data() + first_byte_[s];
    const auto* weights = reinterpret_cast<const float*>(ids + source_counts_[s] * routes_.id_bytes);
    for (std::size_t block = s * features(); block < (s + 1) * features(); ++block) {
      ViewBlock(block, ids, source_weighted_[s] ? weights : nullptr);
      ids += counts_[block] * routes_.id_bytes;
      weights += counts_[block];
    }
  }
}

void InputArrival::MakeOffsets(ThreadPool& pool) {
  const std::size_t blocks = counts_.size();
  first_offset_.assign(blocks, 0);
  std::int64_t total = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    if (lengths_of_[block] == nullptr) continue;
    first_offset_[block] = total;
    total += samples_[block / features()] + 1;
  }
  offsets_.EnsureSize(total);
  pool.Run(static_cast<std::int64_t>(blocks), [&](std::int64_t task, int) {
    const std::size_t block = Index(task);
    const std::int32_t* lengths = lengths_of_[block];
    if (lengths == nullptr) return;
    std::int64_t* offsets = offsets_.data() + first_offset_[block];
    offsets[0] = 0;
    for (std::int64_t b = 0; b < samples_[block / features()]; ++b) offsets[b + 1] = offsets[b] + lengths[b];
  });
}

void InputArrival::ViewBlock(std::size_t block, const std::byte* ids, const float* weights) {
  const auto count = Index(counts_[block]);
  FeatureBags bags;
  bags.samples = samples_[block / features()];
  if (routes_.id_bytes == 4) {
    bags.narrow_ids = {reinterpret_cast<const std::int32_t*>(ids), count};
  } else {
    bags.ids = {reinterpret_cast<const std::int64_t*>(ids), count};
  }
  if (weights != nullptr) bags.weights = {weights, count};
  if (lengths_of_[block] == nullptr) {
    bags.fixed_size = bag_sizes_[block % features()];
  } else {
    bags.offsets = {offsets_.data() + first_offset_[block], Index(bags.samples + 1)};
  }
  bags_[block] = bags;
}

std::int64_t InputArrival::RunRecat(RecatEngines& engines, ThreadPool& pool) {
  if (engines.ids.mode() == RecatMode::kNone) return 0;
  const RecatShape shape{static_cast<std::int64_t>(ranks()),
                         static_cast<std::int64_t>(features()),
                         samples_,
                         bag_sizes_,
                         counts_,
                         lengths_of_};
  const std::int64_t ids = std::accumulate(source_counts_.begin(), source_counts_.end(), std::int64_t{0});
  recat_ids_.EnsureSize(ids * routes_.id_bytes);
  starts_.clear();
  for (const std::int64_t byte : first_byte_) starts_.push_back(byte / routes_.id_bytes);
  std::int64_t moved =
      engines.ids.Run(shape, starts_, payload_.data(), routes_.id_bytes, recat_ids_.data(), pool);

  bool weighted = false;
  for (std::size_t s = 0; s < ranks(); ++s)
    weighted = weighted || (source_weighted_[s] && source_counts_[s] > 0);
  if (weighted) {
    recat_weights_.EnsureSize(ids);
    for (std::size_t s = 0; s < ranks(); ++s) {
      HOTROW_CHECK(source_weighted_[s] || source_counts_[s] == 0);
      starts_[s] = (first_byte_[s] + source_counts_[s] * routes_.id_bytes) / kWeightBytes;
    }
    moved += engines.weights.Run(shape, starts_, payload_.data(), kWeightBytes,
                                 reinterpret_cast<std::byte*>(recat_weights_.data()), pool);
  }
  std::int64_t at = 0;
  for (std::size_t k = 0; k < features(); ++k) {
    for (std::size_t block = k; block < counts_.size(); block += features()) {
      ViewBlock(block, recat_ids_.data() + at * routes_.id_bytes,
                weighted ? recat_weights_.data() + at : nullptr);
      at += counts_[block];
    }
  }
  return moved;
}

}  // namespace hotrow
