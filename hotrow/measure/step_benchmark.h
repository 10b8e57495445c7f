#pragma once
// The steady-state training step, with the limits that the machine sets to it measured in between.

#include <cstdint>
#include <optional>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/measure/bench_config.h"
#include "hotrow/measure/check.h"
#include "hotrow/measure/row_limits.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/tracer.h"

namespace hotrow {

/// How much of what the machine allows a step reaches. A ratio is nothing where it cannot be measured:
/// without limits, over MPI processes, and where more than one rank hold the tables for those with rows.
struct StepRatios {
  std::optional<double> tower_to_gemm;   ///< samples/s of the dense phase to those of its GEMMs alone
  std::optional<double> rows_to_memory;  ///< time of a step's rows at the limits to lookup + sparse backward
  std::optional<double> step_to_floor;  ///< time of the GEMMs and of the rows at the limits to the whole step
};

struct StepResult {
  BenchRun run;
  std::optional<CheckResult> check;  ///< for the caller of CheckStep to set
  std::int64_t micro_batch = 0;
  double mean_over_ranks_ms = 0;  ///< a step
  double max_over_ranks_ms = 0;
  double rank0_median_ms = 0;
  double samples_per_s = 0;  ///< of the world, from the slowest rank's mean step
  double k_samples_per_s_per_rank = 0;
  double k_samples_per_s_per_chip = 0;
  std::vector<double> step_seconds;          ///< [steps] of this rank
  PhaseTimes phases;                         ///< summed over the timed steps, the mean of the ranks
  PhaseBytes bytes;                          ///< summed over the timed steps and the ranks
  std::optional<double> gemm_samples_per_s;  ///< the step's GEMMs alone, on all ranks at once
  std::optional<WorldRowLimits> rows;
  StepRatios ratios;
  std::vector<float> losses;  ///< every step's, warm-up included
  std::optional<std::uint64_t> weights_hash;
  std::optional<std::uint64_t> state_hash;
  std::int64_t model_bytes = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// Collective: trains on generated batches (ids new each step, made outside the timed region). With limits,
/// passes of the GEMM limit (gemm_limit.h), at most 20, run between timed steps: what is compared meets the
/// same state of a noisy machine. `tracer`, of this rank, records the timed steps. All of the result but
/// step_seconds and rank0_median_ms, which are this rank's, is the same on every rank.
StepResult RunStep(const BenchConfig& config, Communicator& comm, ThreadPool& pool, Tracer* tracer = nullptr);

}  // namespace hotrow
