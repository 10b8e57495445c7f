#pragma once
// The next batch of every rank, agreed upon: what one step is made of.

#include <cstdint>
#include <exception>
#include <optional>

#include "hotrow/comm/communicator.h"
#include "hotrow/data/batch.h"

namespace hotrow {

/// Reads batches so that all ranks take the same steps: a rank whose own data has ended takes part with empty
/// batches until every rank's has, and a read that fails on one rank ends all at one point. Reading may be
/// one batch ahead of the steps: what goes wrong in it is thrown when its step is due, not before.
class AgreedBatches {
 public:
  /// `source`: a RankSource, or data of the rank's own. Both must outlive this.
  AgreedBatches(BatchSource& source, Communicator& comm) : source_(source), comm_(comm) {}

  /// Collective: samples of an epoch over all ranks, the same on each; none where any rank's are not known.
  /// Throws Error, naming ranks, where the data is one for all ranks (of_all_ranks) and they count
  /// differently.
  std::optional<std::int64_t> EpochSamples() const;

  /// Of the source. What fails here fails on this rank alone, and must end its world.
  void StartEpoch(std::int64_t epoch);
  /// Collective: this rank's next batch, with its rank_samples. False when every rank's data has ended, and
  /// when reading has failed on any: that slices of one data set come of different global batches
  /// (Batch::global_digest), or of fewer on some ranks, is such a failure, an Error that names ranks.
  bool Next(std::int64_t samples, Batch& batch);
  /// Collective, after a Next that returned false: throws what reading failed with, on the ranks where it
  /// did; Aborted on the others. Returns at the end of the data.
  void Rethrow();

 private:
  bool Read(std::int64_t samples, Batch& batch);
  void MakeEmpty(Batch& batch, bool weighted) const;
  void FailForOtherData(std::uint64_t digest);

  BatchSource& source_;
  Communicator& comm_;
  std::int64_t next_ = 0;  // number of the next batch in its epoch
  bool ended_ = false;     // on this rank
  bool failed_ = false;    // on any
  std::exception_ptr failure_;
};

}  // namespace hotrow
