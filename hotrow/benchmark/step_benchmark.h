#pragma once
// The steady-state training step, with the limit that the machine sets to it measured in between.

#include <cstdint>
#include <optional>
#include <vector>

#include "hotrow/data/synthetic.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

struct StepBenchmarkConfig {
  SyntheticConfig data;
  std::int64_t batch_size = 4096;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
};

struct StepBenchmarkResult {
  std::vector<float> losses;         ///< every step's, warm-up included
  std::vector<double> step_seconds;  ///< [steps]
  std::vector<double>
      limit_seconds;  ///< the step's GEMMs alone, passes spread evenly between the timed steps
  PhaseTimes phases;  ///< summed over the timed steps
  std::int64_t ids_per_step = 0;
};

/// Trains on generated batches (ids new each step, made outside the timed region). Between timed steps it
/// runs passes of the GEMM limit (model/gemm_limit.h), at most 20: what is compared meets the same state of a
/// noisy machine.
StepBenchmarkResult RunStepBenchmark(const StepBenchmarkConfig& config, Trainer& trainer);

}  // namespace hotrow
