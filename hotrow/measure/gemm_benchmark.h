#pragma once
// The tower's matrix products alone, together and one by one.

#include <cstdint>
#include <vector>

#include "hotrow/machine/thread_pool.h"
#include "hotrow/measure/bench_config.h"
#include "hotrow/measure/gemm_limit.h"

namespace hotrow {

struct GemmResult {
  BenchRun run;   ///< its steps and warm-up are passes
  double ms = 0;  ///< forward, dX and dW of a batch, median of the passes
  double gflops = 0;
  double samples_per_s = 0;
  std::vector<GemmReport> products;
  std::int64_t peak_rss_bytes = 0;
};

/// A fifth of the configuration's steps as passes, 3 at least, after a fifth of its warm-up, 1 at least: a
/// pass is what a step takes, and varies less. On one rank; the model's tables are not made. Throws Error for
/// reduction units that are not valid.
GemmResult RunGemm(const BenchConfig& config, ThreadPool& pool);

}  // namespace hotrow
