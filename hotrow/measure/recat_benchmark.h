#pragma once
// How long one rank's recat takes, by itself, with a plain copy of the same ids beside it.

#include <cstdint>
#include <vector>

#include "hotrow/machine/thread_pool.h"
#include "hotrow/measure/bench_config.h"

namespace hotrow {

struct RecatResult {
  BenchRun run;  ///< its world is the sources
  int id_bytes = 4;
  std::int64_t ids = 0;              ///< a step
  std::int64_t bytes_moved = 0;      ///< a step: read and written
  std::vector<double> seconds;       ///< of each timed step; empty for kNone, which has nothing to time
  std::vector<double> copy_seconds;  ///< of a plain copy of the payload, one before each timed step
  std::int64_t peak_rss_bytes = 0;

  std::int64_t payload_bytes() const { return ids * id_bytes; }
};

/// Runs the engine of the configuration's dist options on one arrival, from `sources` ranks, again and again,
/// on all threads of the pool, and checks the last result against the definition. kNone moves nothing: what
/// it costs is in the lookup that reads the arrival as it lies, and only the copy is timed. In turn with an
/// engine the payload is copied between the same buffers, a slice a thread: what a recat would cost if
/// nothing changed its place. Throws Error for more ids than an index of 4 bytes reaches, and where memory is
/// short.
RecatResult RunRecat(const BenchConfig& config, std::int64_t sources, ThreadPool& pool);

}  // namespace hotrow
