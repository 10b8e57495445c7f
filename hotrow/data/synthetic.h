#pragma once
// Generated batches for benchmarks: no file, no state, every number a function of where it is used.
//
// An id of step s is a function of (seed + 1 + s, feature, global sample, position in the bag); dense inputs
// and labels are functions of (seed, global sample). So a batch can be cut into any slices, made on any
// thread, and is the same. Dense inputs are uniform in [0, 1), labels 0 or 1 with equal chance.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// How ids fall on a table's rows.
struct IdDistribution {
  /// Absent: uniform. Else Zipf by its continuous inverse CDF: for u uniform in [0, 1) the row is
  /// floor(((n^(1-alpha) - 1) u + 1)^(1/(1-alpha)) - 1) clipped to the table, row 0 the hottest (alpha = 1:
  /// n^u - 1).
  std::optional<double> zipf_alpha = {};
};

/// Parses "uniform" or "zipf:ALPHA" (ALPHA >= 0); throws Error that says so.
IdDistribution ParseIdDistribution(const std::string& text);
std::string ToString(const IdDistribution& distribution);

struct SyntheticConfig {
  std::vector<std::int64_t> rows;       ///< of each feature's table, >= 1
  std::vector<std::int32_t> bag_sizes;  ///< ids a sample of each feature, 0 to 131,072
  std::int64_t num_dense = 13;
  IdDistribution ids;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> samples;  ///< an epoch's; none: endless
};

/// Features are named f0, f1, …. StartEpoch always starts at step 0 and sample 0: with `samples` given the
/// source is a data set that repeats.
class SyntheticSource : public BatchSource {
 public:
  /// `pool`, when given, makes batches with all its threads and must outlive the source; it must not be
  /// running anything else while Next or Fill does. Throws Error for sizes out of range, naming the feature.
  explicit SyntheticSource(SyntheticConfig config, ThreadPool* pool = nullptr);

  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override;
  bool Next(std::int64_t max_samples, Batch& batch) override;
  void Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) override;

  /// Samples [first_sample, first_sample + samples) as step `step` has them: a rank's slice of a global
  /// batch. Keeps the batch's memory.
  void Fill(std::int64_t step, std::int64_t first_sample, std::int64_t samples, Batch& batch) const;

 private:
  void FillSamples(std::int64_t step, std::int64_t begin, std::int64_t end, Batch& batch) const;

  SyntheticConfig config_;
  DataDescription description_;
  std::vector<std::string> names_;
  ThreadPool* pool_;
  std::int64_t step_ = 0;
  std::int64_t next_sample_ = 0;
};

}  // namespace hotrow
