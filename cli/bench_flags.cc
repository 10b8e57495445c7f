#include "cli/bench_flags.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/cli11.h"
#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/data/presets.h"
#include "hotrow/dist/options.h"

namespace hotrow::cli {

void AddBenchFlags(CLI::App& app, BenchFlags& f) {
  AddCommonFlags(app, f.common);
  app.add_option("--part", f.part,
                 "step, sparse (embedding only), recat (one rank's, of the ids that --ranks sources "
                 "sent), alltoall (the exchanges of ids and of pooled rows) or gemm (the tower's "
                 "products)")
      ->capture_default_str();
  app.add_option("--cardinality", f.cardinality, "tiny, shrunk, canonical, mlperf, or a list of rows")
      ->capture_default_str();
  app.add_option("--max-rows", f.max_rows, "Cap of every table's rows; 0: none")->capture_default_str();
  app.add_option("--per-chip-batch", f.per_chip_batch, "Samples a rank")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--steps", f.steps, "Timed steps; gemm: a fifth of them, 3 at least")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--warmup", f.warmup, "Steps before the timed ones; gemm: a fifth of them, 1 at least")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--ids", f.ids, "uniform or zipf:ALPHA")->capture_default_str();
  app.add_option("--multi-hot", f.multi_hot, "Ids a sample of every feature: mlperf, one, or a list")
      ->capture_default_str();
  app.add_option("--ranks-per-chip", f.ranks_per_chip, "For the per-chip figure")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->capture_default_str();
  app.add_flag("--check", f.check, "First compare with a naive double-precision reference on the same ids");
  app.add_flag("--hash", f.hash, "weights_hash even above 8 GiB of tables");
  AddRankFlags(app, f.over);
  AddModelFlags(app, f.model);
}

std::int64_t GlobalBatch(const BenchFlags& flags) {
  return CheckedMul(flags.per_chip_batch, flags.over.ranks);
}

SyntheticConfig MakeBenchData(const BenchFlags& flags) {
  SyntheticConfig data;
  data.rows = ParseRows(flags.cardinality, flags.max_rows);
  data.bag_sizes = ParseMultiHot(flags.multi_hot, static_cast<std::int64_t>(data.rows.size()));
  data.ids = ParseIdDistribution(flags.ids);
  data.seed = flags.common.seed;
  return data;
}

int WireIdBytes(const BenchFlags& flags, const SyntheticConfig& data) {
  const auto largest = std::max_element(data.rows.begin(), data.rows.end());
  return hotrow::WireIdBytes(ParseIdBytes(flags.over.id_bytes),
                             fmt::format("t_f{}", largest - data.rows.begin()), *largest);
}

}  // namespace hotrow::cli
