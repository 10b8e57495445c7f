#pragma once
// The two exchanges of a column-wise step, without the step: ids to every rank, and pooled rows to the ranks
// that have the samples.

#include <cstdint>
#include <vector>

#include "hotrow/comm/communicator.h"

namespace hotrow {

struct AllToAllBenchmarkConfig {
  std::int64_t samples = 4096;  ///< of each rank
  std::int64_t ids_per_sample = 214;
  int id_bytes = 4;                        ///< 4 or 8
  std::int64_t pooled_columns = 26 * 128;  ///< of a sample; each rank has an even share of them
  std::int64_t warmup = 2;
  std::int64_t steps = 10;
};

struct ExchangeTimes {
  std::int64_t payload_bytes =
      0;                        ///< that one rank receives, its own part included; the largest of all ranks
  std::int64_t sent_bytes = 0;  ///< from rank to other rank, summed over all
  std::vector<double> seconds;  ///< [steps] the slowest rank's
  std::vector<double> copy_seconds;  ///< [steps] the slowest rank's memcpy of as many bytes as it receives
};

struct AllToAllBenchmarkResult {
  ExchangeTimes ids;     ///< every rank sends every rank all its ids, as the input dist does
  ExchangeTimes pooled;  ///< every rank sends every rank its columns of that rank's samples
};

/// Bytes of the buffers that each of `world` ranks needs.
std::int64_t AllToAllMemory(const AllToAllBenchmarkConfig& config, std::int64_t world);

/// Called by all ranks with one configuration; all get the same result. Every timed exchange starts at a
/// barrier and is followed by the copies, all ranks at once. What arrived last is compared with what was
/// sent.
AllToAllBenchmarkResult RunAllToAll(const AllToAllBenchmarkConfig& config, Communicator& comm);

}  // namespace hotrow
