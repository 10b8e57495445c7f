#include "hotrow/train/agreed_batches.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "hotrow/comm/collectives.h"

namespace hotrow {

std::optional<std::int64_t> AgreedBatches::EpochSamples() const {
  const DataDescription& data = source_.description();
  if (comm_.size() == 1) return data.samples;
  if (data.of_all_ranks) {
    const std::int64_t samples = data.samples.value_or(-1);
    CheckAgreement(comm_, std::as_bytes(std::span(&samples, 1)), "the number of samples in the data");
    return data.samples;
  }
  std::int64_t total = 0;
  for (const std::int64_t of_rank : AllGather(comm_, data.samples.value_or(-1))) {
    if (of_rank < 0) return std::nullopt;
    total += of_rank;
  }
  return total;
}

void AgreedBatches::StartEpoch(std::int64_t epoch) {
  source_.StartEpoch(epoch);
  next_ = 0;
  ended_ = false;
  failed_ = false;
  failure_ = nullptr;
}

bool AgreedBatches::Read(std::int64_t samples, Batch& batch) {
  try {
    return !ended_ && source_.Next(samples, batch);
  } catch (const Aborted&) {
    // Another rank's reader has failed, which says so in a moment; or its world has, which the next exchange
    // tells.
    failed_ = true;
    return false;
  } catch (...) {
    failed_ = true;
    failure_ = std::current_exception();
    return false;
  }
}

// An empty batch of the kind that the others hold.
void AgreedBatches::MakeEmpty(Batch& batch, bool weighted) const {
  const DataDescription& data = source_.description();
  if (batch.sparse.num_features() == 0) {
    std::vector<std::string> keys;
    std::vector<std::int32_t> sizes;
    for (const SparseFeature& feature : data.features) {
      keys.push_back(feature.name);
      sizes.push_back(feature.fixed_size);
    }
    const bool fixed = std::find(sizes.begin(), sizes.end(), 0) == sizes.end();
    batch.sparse =
        fixed ? KeyedJaggedTensor(std::move(keys), std::move(sizes)) : KeyedJaggedTensor(std::move(keys));
  }
  if (batch.sparse.is_fixed()) {
    batch.sparse.ResetFixed(0, weighted);
  } else {
    batch.sparse.ResetJagged(0, {}, {});
  }
  batch.size = 0;
  batch.dense.clear();
  batch.labels.clear();
  batch.sample_weights.clear();
}

void AgreedBatches::FailForOtherData(std::uint64_t digest) {
  failed_ = true;
  try {
    CheckAgreement(comm_, std::as_bytes(std::span(&digest, 1)),
                   fmt::format("the data, in batch {} of the epoch", next_));
  } catch (...) {
    failure_ = std::current_exception();
  }
}

bool AgreedBatches::Next(std::int64_t samples, Batch& batch) {
  struct Said {
    std::int64_t samples = 0;
    std::uint64_t global_digest = 0;
    bool weighted = false;
    bool ended = false;
    bool failed = false;
  };
  ended_ = !Read(samples, batch);
  ++next_;
  if (comm_.size() == 1) {
    batch.rank_samples.assign(1, batch.size);
    return !ended_;
  }
  const bool weighted_here = !ended_ && batch.sparse.is_weighted();
  const std::uint64_t digest = !ended_ && source_.description().of_all_ranks ? batch.global_digest : 0;
  const auto said = AllGather(comm_, Said{ended_ ? 0 : batch.size, digest, weighted_here, ended_, failed_});
  batch.rank_samples.clear();
  bool all_ended = true;
  bool weighted = false;
  bool same = true;
  for (const Said& rank : said) {
    same = same && rank.global_digest == digest;
    weighted = weighted || rank.weighted;
    batch.rank_samples.push_back(rank.samples);
    all_ended = all_ended && rank.ended;
    failed_ = failed_ || rank.failed;
  }
  // All ranks come to the same answer: words that are not all equal differ from some on every rank.
  if (!same && !failed_) FailForOtherData(digest);
  if (ended_) MakeEmpty(batch, weighted);
  return !all_ended && !failed_;
}

void AgreedBatches::Rethrow() {
  if (!failed_) return;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  // The rank that failed must get to say so: whoever left first would end the world for it too.
  comm_.Barrier();
  throw Aborted();
}

}  // namespace hotrow
