#pragma once
// How long one rank's recat takes, by itself, with a plain copy of the same ids beside it.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/dist/options.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

struct RecatBenchmarkConfig {
  RecatMode mode = RecatMode::kNone;
  std::int64_t sources = 8;
  std::int64_t samples = 4096;      ///< of each source
  std::vector<std::int32_t> sizes;  ///< ids a sample of each feature
  int id_bytes = 4;                 ///< 4 or 8
  std::int64_t warmup = 2;
  std::int64_t steps = 10;
};

struct RecatBenchmarkResult {
  std::int64_t ids = 0;              ///< a step
  std::int64_t bytes_moved = 0;      ///< a step: read and written
  std::vector<double> seconds;       ///< of each timed step; empty for kNone, which has nothing to time
  std::vector<double> copy_seconds;  ///< of a plain copy of the payload, one before each timed step
};

/// Runs the engine on one arrival again and again, on all threads of the pool, and checks the last result
/// against the definition. kNone moves nothing: what it costs is in the lookup that reads the arrival as it
/// lies, and only the copy is timed. In turn with an engine the payload is copied between the same
/// buffers, a slice a thread: what a recat would cost if nothing changed its place. Throws Error for more ids
/// than an index of 4 bytes reaches, and where memory is short.
RecatBenchmarkResult RunRecat(const RecatBenchmarkConfig& config, ThreadPool& pool);

}  // namespace hotrow
