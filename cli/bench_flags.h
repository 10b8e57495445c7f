#pragma once
// The flags of `hotrow bench`, and the benchmark that they describe.

#include <cstdint>
#include <string>

#include "cli/app.h"
#include "cli/model_flags.h"
#include "cli/rank_flags.h"
#include "hotrow/measure/bench_config.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

struct BenchFlags {
  CommonFlags common;
  ModelFlags model;
  std::string part = "step";
  std::string cardinality = "tiny";
  std::int64_t max_rows = 0;
  std::int64_t per_chip_batch = 4096;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  std::string ids = "uniform";
  std::string multi_hot = "mlperf";
  RankFlags over;  ///< ranks
  std::int64_t ranks_per_chip = 1;
  bool check = false;
  bool hash = false;
  std::string limits = "on";
};

void AddBenchFlags(CLI::App& app, BenchFlags& flags);

/// The benchmark of these flags, not yet placed on ranks. Throws Error where they do not fit.
BenchConfig MakeBenchConfig(const BenchFlags& flags);

}  // namespace hotrow::cli
