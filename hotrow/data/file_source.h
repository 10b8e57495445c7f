#pragma once
// Batches from text files.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/data/record_encoder.h"
#include "hotrow/machine/system.h"

namespace hotrow {

struct FileSourceOptions {
  std::vector<std::string> paths;  ///< at least one; read in this order
  /// On: all samples are encoded into memory once, and epoch e runs through them in a permutation that is a
  /// function of (seed, e) alone. Off: files are streamed in their order, whatever their size.
  bool shuffle = false;
  std::uint64_t seed = 0;
  bool need_labels = true;  ///< off: files without a label column are fine, and batches then have no labels
  bool refuse_bad_ids = false;  ///< an id outside its table is an error naming file, line and column
  /// A path may be a pipe, or "-" for stdin. Such data are read once: shuffled, that is enough for any number
  /// of epochs, since the samples stay in memory; streamed, a second epoch is an error.
  bool pipes = false;
  std::int64_t max_shuffled = std::numeric_limits<std::uint32_t>::max();  ///< at most the default
  std::function<std::int64_t()> available_memory = AvailableMemory;       ///< asked before memory is taken
};

/// Throws Error when a file cannot be opened, is empty or malformed, when it changed while it was read or
/// between two epochs, when files disagree on having labels, or when the samples do not fit in memory or are
/// too many to be shuffled. A streaming source finds malformed records as it comes to them.
std::unique_ptr<BatchSource> OpenFileSource(std::shared_ptr<const RecordEncoder> encoder,
                                            const FileSourceOptions& options);

/// The order of epoch `epoch` of a shuffled data set of n samples, n < 2^32.
std::vector<std::uint32_t> ShuffledOrder(std::uint64_t seed, std::int64_t epoch, std::int64_t n);

}  // namespace hotrow
