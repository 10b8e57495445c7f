#include "hotrow/train/agreed_batches.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hotrow/comm/collectives.h"

namespace hotrow {

void AgreedBatches::StartEpoch(std::int64_t epoch) {
  source_.StartEpoch(epoch);
  ended_ = false;
}

bool AgreedBatches::Read(std::int64_t samples, Batch& batch) {
  try {
    return !ended_ && source_.Next(samples, batch);
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

// An empty batch of the kind that the others hold.
void AgreedBatches::MakeEmpty(Batch& batch) const {
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
    batch.sparse.ResetFixed(0, batch.sparse.is_weighted());
  } else {
    batch.sparse.ResetJagged(0, {}, {});
  }
  batch.size = 0;
  batch.dense.clear();
  batch.labels.clear();
}

bool AgreedBatches::Next(std::int64_t samples, Batch& batch) {
  struct Said {
    std::int64_t samples = 0;
    bool ended = false;
    bool failed = false;
  };
  ended_ = !Read(samples, batch);
  failed_ = failure_ != nullptr;
  if (comm_.size() == 1) {
    batch.rank_samples.assign(1, batch.size);
    return !ended_;
  }
  if (ended_) MakeEmpty(batch);
  const auto said = AllGather(comm_, Said{batch.size, ended_, failed_});
  batch.rank_samples.clear();
  bool all_ended = true;
  for (const Said& rank : said) {
    batch.rank_samples.push_back(rank.samples);
    all_ended = all_ended && rank.ended;
    failed_ = failed_ || rank.failed;
  }
  return !all_ended && !failed_;
}

void AgreedBatches::Rethrow() {
  if (!failed_) return;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  throw Aborted();
}

}  // namespace hotrow
