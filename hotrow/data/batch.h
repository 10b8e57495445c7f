#pragma once
// What a training step consumes, and where it comes from.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/data/unknown_values.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// Samples [first_sample, first_sample + size) of the epoch's global order: a global batch, or a rank's slice
/// of one, which may be empty.
struct Batch {
  std::int64_t first_sample = 0;
  std::int64_t size = 0;
  std::vector<float> dense;   ///< [size, num_dense], row-major, finite
  KeyedJaggedTensor sparse;   ///< size samples
  std::vector<float> labels;  ///< [size], each 0 or 1; empty when the data has none (prediction)
  /// [size], finite, >= 0: how much a sample counts in the loss and in metrics; empty: 1 each.
  std::vector<float> sample_weights;
  /// Samples of every rank's slice, in rank order, this one's among them; empty where that is not known.
  std::vector<std::int64_t> rank_samples;
  /// Of a slice that a rank has cut out of a global batch it read by itself: a word for that batch, the same
  /// on every rank that has read the same. 0 otherwise.
  std::uint64_t global_digest = 0;
};

/// A sparse feature as a model needs to know it: the table behind it.
struct SparseFeature {
  std::string name;
  std::int64_t rows = 0;        ///< ids are in [0, rows)
  std::int32_t fixed_size = 0;  ///< ids a sample; 0: varies
  /// Features with the same one share a table, and have as many rows; empty: the feature's own, "t_" + name.
  std::string table = {};
};

struct DataDescription {
  std::int64_t num_dense = 0;
  std::vector<SparseFeature> features;
  bool has_labels = true;
  bool weighted_samples = false;        ///< batches have sample_weights
  bool weighted_ids = false;            ///< batches' ids have weights, of every feature
  std::optional<std::int64_t> samples;  ///< an epoch's; none: endless (synthetic) or unknown
  std::string name;                     ///< where they come from, as mistakes name it; empty: generated
  bool of_all_ranks = false;  ///< every rank's slices come of this one data set; else it is a rank's own
  bool one_pass = false;      ///< only one epoch can be read: the data come through a pipe
};

/// A stream of batches. Not thread-safe: one caller at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const DataDescription& description() const = 0;
  /// Starts epoch `epoch` (0, 1, …) from its first sample, in that epoch's order (seeded shuffle where the
  /// source shuffles). Throws Error where that cannot be: data that changed since they were first read, no
  /// memory for the order.
  virtual void StartEpoch(std::int64_t epoch) = 0;
  /// Fills `batch` (reusing its memory) with the next at most `max_samples` samples. False, and an empty
  /// batch, at the end of the epoch. The last batch of an epoch may be short. Throws Error naming file, line
  /// and column on malformed data.
  virtual bool Next(std::int64_t max_samples, Batch& batch) = 0;
  /// To where StartEpoch(epoch) and `batches` calls of Next(max_samples, …) would have led. What is left out
  /// may go unchecked and uncounted. Here by just these calls; a source that can do better does.
  virtual void Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) {
    StartEpoch(epoch);
    Batch dropped;
    for (std::int64_t i = 0; i < batches && Next(max_samples, dropped); ++i) {
    }
  }
  /// Of the features whose values are looked up in a vocabulary: counted in this epoch so far, or, where
  /// samples are encoded once for all epochs, in all. May be called while another thread is in Next.
  virtual std::vector<UnknownValues> Unknown() const { return {}; }
};

}  // namespace hotrow
