#pragma once
// The embedding part alone: input dist, pooled lookup and output dist, then backward and update, with a fixed
// gradient in place of a tower.

#include <cstdint>
#include <optional>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/measure/bench_config.h"
#include "hotrow/measure/check.h"
#include "hotrow/measure/row_limits.h"
#include "hotrow/trace/phase.h"

namespace hotrow {

/// Times are of the slowest rank of each step; a step is forward, backward and update.
struct SparseResult {
  BenchRun run;
  std::optional<CheckResult> check;  ///< for the caller of CheckSparse to set
  std::vector<double> step_seconds;  ///< [steps]
  double forward_ms = 0;             ///< median
  double step_ms = 0;                ///< median
  double step_ms_mean = 0;
  double forward_rows_per_s = 0;
  double forward_gb_s = 0;  ///< of the rows' weights
  double samples_per_s = 0;
  PhaseTimes phases;  ///< summed over the timed steps, the mean of the ranks
  PhaseBytes bytes;   ///< summed over the timed steps and the ranks
  RowWork work;       ///< of a step
  std::optional<WorldRowLimits> rows;
  std::int64_t peak_rss_bytes = 0;
};

/// Collective. Ids are new each step and made outside the timed region; gradients stand as a tower leaves
/// them, feature after feature. At least one feature.
SparseResult RunSparse(const BenchConfig& config, Communicator& comm, ThreadPool& pool);

}  // namespace hotrow
