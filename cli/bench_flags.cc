#include "cli/bench_flags.h"

#include <algorithm>

#include "cli/cli11.h"
#include "hotrow/data/presets.h"

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
  app.add_option(
         "--limits", f.limits,
         "on: measure what the machine allows beside step and sparse, in about as much time again; off")
      ->capture_default_str();
  app.add_flag("--hash", f.hash, "weights_hash even above 8 GiB of tables");
  AddRankFlags(app, f.over);
  AddModelFlags(app, f.model);
}

namespace {

SyntheticConfig MakeData(const BenchFlags& flags) {
  SyntheticConfig data;
  data.rows = ParseRows(flags.cardinality, flags.max_rows);
  data.bag_sizes = ParseMultiHot(flags.multi_hot, static_cast<std::int64_t>(data.rows.size()));
  data.ids = ParseIdDistribution(flags.ids);
  data.seed = flags.common.seed;
  return data;
}

// A cap that is 0 caps nothing.
bool Caps(const BenchFlags& flags) {
  const auto more = [&](std::int64_t rows) { return rows > flags.max_rows; };
  return flags.max_rows > 0 && std::ranges::any_of(ParseRows(flags.cardinality), more);
}

}  // namespace

BenchConfig MakeBenchConfig(const BenchFlags& flags) {
  const SyntheticConfig data = MakeData(flags);
  const ModelConfig model = MakeModelConfig(flags.model, SyntheticSource(data).description());
  BenchConfig config{.trainer = MakeTrainerConfig(flags.model, model, flags.common.seed),
                     .data = data,
                     .per_chip_batch = flags.per_chip_batch,
                     .ranks_per_chip = flags.ranks_per_chip,
                     .steps = flags.steps,
                     .warmup = flags.warmup,
                     .pipeline = Pipelined(flags.over),
                     .limits = ParseOnOff("--limits", flags.limits),
                     .hash = flags.hash,
                     .cardinality = flags.cardinality,
                     .sharding = flags.over.sharding,
                     .max_rows = flags.max_rows,
                     .capped = Caps(flags)};
  config.trainer.dist = MakeDistOptions(flags.over);
  return config;
}

}  // namespace hotrow::cli
