#pragma once
// The two exchanges of a column-wise step, without the step: ids to every rank, and pooled rows to the ranks
// that have the samples.

#include <cstdint>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/measure/bench_config.h"

namespace hotrow {

struct ExchangeTimes {
  /// That one rank receives, its own part included; the largest of all ranks.
  std::int64_t payload_bytes = 0;
  std::int64_t sent_bytes = 0;       ///< from rank to other rank, summed over all
  std::vector<double> seconds;       ///< [steps] the slowest rank's
  std::vector<double> copy_seconds;  ///< [steps] the slowest rank's memcpy of as many bytes as it receives
};

struct AllToAllResult {
  BenchRun run;
  int id_bytes = 4;
  ExchangeTimes ids;                ///< every rank sends every rank all its ids, as the input dist does
  ExchangeTimes pooled;             ///< every rank sends every rank its columns of that rank's samples
  ExchangeTimes both;               ///< one after the other
  std::int64_t peak_rss_bytes = 0;  ///< of this process
};

/// Called by all ranks with one configuration; all get the same result. Every timed exchange starts at a
/// barrier and is followed by the copies, all ranks at once. What arrived last is compared with what was
/// sent. Throws Error where the buffers of the `ranks_of_host` ranks on this machine do not fit.
AllToAllResult RunAllToAll(const BenchConfig& config, int ranks_of_host, Communicator& comm);

}  // namespace hotrow
