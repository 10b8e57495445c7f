#pragma once
// The flags of `hotrow bench`, and the generated data that they describe.

#include <cstdint>
#include <string>

#include "cli/app.h"
#include "cli/model_flags.h"
#include "cli/rank_flags.h"
#include "hotrow/data/synthetic.h"

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
};

/// Samples of a step: --per-chip-batch times the ranks.
std::int64_t GlobalBatch(const BenchFlags& flags);

void AddBenchFlags(CLI::App& app, BenchFlags& flags);

/// The data of --cardinality, --max-rows, --multi-hot, --ids and --seed. Throws Error where they do not fit.
SyntheticConfig MakeBenchData(const BenchFlags& flags);

/// Bytes of an id on the wire, 4 or 8: --id-bytes, where auto asks whether every table has fewer than 2^31
/// rows.
int WireIdBytes(const BenchFlags& flags, const SyntheticConfig& data);

}  // namespace hotrow::cli
