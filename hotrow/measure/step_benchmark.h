#pragma once
// The steady-state training step, with the limit that the machine sets to it measured in between.

#include <cstdint>
#include <functional>
#include <vector>

#include "hotrow/data/synthetic.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/phase_bytes.h"
#include "hotrow/trace/tracer.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

struct StepBenchmarkConfig {
  SyntheticConfig data;
  std::int64_t global_batch = 4096;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  bool pipeline = true;      ///< exchange the next batch's ids during a step
  Tracer* tracer = nullptr;  ///< of this rank; records the timed steps
  /// Told, if there, how many steps are over, those of the warm-up included; outside the timed region.
  std::function<void(std::int64_t)> on_step = nullptr;
};

struct StepBenchmarkResult {
  std::vector<float> losses;         ///< every step's, warm-up included
  std::vector<double> step_seconds;  ///< [steps] of this rank
  std::vector<double> rank_seconds;  ///< [ranks] each rank's mean step
  std::vector<double>
      limit_seconds;  ///< the step's GEMMs alone, on all ranks; passes spread evenly between the timed steps
  PhaseTimes phases;  ///< summed over the timed steps, the mean of the ranks
  PhaseBytes bytes;   ///< summed over the timed steps and the ranks
};

/// Collective: trains on generated batches (ids new each step, made outside the timed region). Between timed
/// steps it runs passes of the GEMM limit (gemm_limit.h), at most 20: what is compared meets the same
/// state of a noisy machine. All results but step_seconds are the same on every rank.
StepBenchmarkResult RunStepBenchmark(const StepBenchmarkConfig& config, Trainer& trainer);

}  // namespace hotrow
