#pragma once
// Every rank's slice of the global batches, whatever the world.

#include <cstdint>
#include <optional>

#include "hotrow/comm/communicator.h"
#include "hotrow/data/batch.h"
#include "hotrow/train/prefetch.h"

namespace hotrow {

/// Cuts the global batches of a source, which it reads ahead, into the slices of ranks: rank r has
/// SamplesOfRank(global batch, reduction units, ranks, r), whole units of it. Next(n) reads the next
/// global batch of n samples and gives this rank's slice, which may be empty; description() is the whole
/// data's.
///
/// Thread ranks read one source: rank 0 does, and the others copy their slices from its memory. MPI ranks
/// each read a source of their own over the same data, and what they have read is told by the slices'
/// global_digest: of the batch's place and size, and at the start of an epoch of all its contents. Next is a
/// collective. When reading fails on rank 0 its Next throws what the source threw, and the other thread
/// ranks' throw Aborted.
class RankSource final : public BatchSource {
 public:
  /// `source` must outlive this, and is used by no one else until then. Thread ranks may all give the same
  /// one: only rank 0 reads it. `reduction_units`: the trainer's.
  RankSource(BatchSource& source, std::int64_t reduction_units, Communicator& comm);

  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override;
  bool Next(std::int64_t global_samples, Batch& batch) override;
  void Seek(std::int64_t epoch, std::int64_t batches, std::int64_t global_samples) override;
  /// Of the whole data, on the ranks that read them; none on the others.
  std::vector<UnknownValues> Unknown() const override;

 private:
  bool NextShared(std::int64_t global_samples, Batch& batch);
  void CopyOwn(const Batch& global, Batch& batch) const;

  DataDescription description_;
  std::int64_t units_;
  Communicator& comm_;
  std::optional<PrefetchingSource> reader_;  // of those that read
  Batch global_;
  bool epoch_begins_ = true;  // the next batch is an epoch's first
};

}  // namespace hotrow
