// hotrow bench: steady-state speed of the step, the embedding part or the GEMMs, with the measured limit
// beside it.

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/bench_check.h"
#include "cli/config_file.h"
#include "cli/model_flags.h"
#include "cli/statistics.h"
#include "hotrow/base/error.h"
#include "hotrow/base/system.h"
#include "hotrow/benchmark/sparse_benchmark.h"
#include "hotrow/benchmark/step_benchmark.h"
#include "hotrow/data/presets.h"
#include "hotrow/embed/gather_limit.h"
#include "hotrow/model/dlrm.h"
#include "hotrow/model/gemm_limit.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

// Hashing reads every row; above this much it is done only when asked for.
constexpr std::int64_t kHashedBytes = std::int64_t{8} << 30;

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
  std::int64_t ranks = 1;
  std::int64_t ranks_per_chip = 1;
  bool check = false;
  bool hash = false;
};

void AddFlags(CLI::App& app, BenchFlags& f) {
  AddCommonFlags(app, f.common);
  app.add_option("--part", f.part, "step, sparse (embedding only) or gemm (the tower's products)")
      ->capture_default_str();
  app.add_option("--cardinality", f.cardinality, "tiny, shrunk, canonical, mlperf, or a list of rows")
      ->capture_default_str();
  app.add_option("--max-rows", f.max_rows, "Cap of every table's rows; 0: none")->capture_default_str();
  app.add_option("--per-chip-batch", f.per_chip_batch, "Samples a rank")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--steps", f.steps, "Timed steps")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--warmup", f.warmup, "Steps before the timed ones")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--ids", f.ids, "uniform or zipf:ALPHA")->capture_default_str();
  app.add_option("--multi-hot", f.multi_hot, "Ids a sample of every feature: mlperf, one, or a list")
      ->capture_default_str();
  app.add_option("--ranks", f.ranks, "Ranks: 1 in this build")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1}))
      ->capture_default_str();
  app.add_option("--ranks-per-chip", f.ranks_per_chip, "For the per-chip figure")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->capture_default_str();
  app.add_flag("--check", f.check, "First compare with a naive double-precision reference on the same ids");
  app.add_flag("--hash", f.hash, "weights_hash even above 8 GiB of tables");
  AddModelFlags(app, f.model);
}

SyntheticConfig MakeData(const BenchFlags& flags) {
  SyntheticConfig data;
  data.rows = ParseRows(flags.cardinality, flags.max_rows);
  data.bag_sizes = ParseMultiHot(flags.multi_hot, static_cast<std::int64_t>(data.rows.size()));
  data.ids = ParseIdDistribution(flags.ids);
  data.seed = flags.common.seed;
  return data;
}

std::int64_t Sum(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t v : values) sum = CheckedAdd(sum, v);
  return sum;
}

Json CommonFields(const BenchFlags& flags, const SyntheticConfig& data, const ThreadPool& pool) {
  std::int64_t ids = 0;
  for (const std::int32_t size : data.bag_sizes) ids += size;
  return {{"command", "bench"},
          {"part", flags.part},
          {"version", HOTROW_VERSION},
          {"cpu", CpuName()},
          {"world", 1},
          {"threads", pool.size()},
          {"per_chip_batch", flags.per_chip_batch},
          {"global_batch", flags.per_chip_batch},
          {"cardinality", flags.cardinality},
          {"rows", Sum(data.rows)},
          {"ids_per_step", ids * flags.per_chip_batch},
          {"ids", flags.ids},
          {"seed", flags.common.seed},
          {"sharding", "none"},
          {"kernel", flags.model.kernel},
          {"recat_mode", "none"},
          {"optimizer", flags.model.optimizer},
          {"precision", flags.model.precision},
          {"reduction_units", flags.model.reduction_units}};
}

std::string Hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::string Headline(const BenchFlags& flags, const Json& json) {
  return fmt::format(
      "world 1, {} threads, per-chip batch {}, global batch {}\ncardinality {} ({} rows), {} ids a step\n{}",
      json["threads"].get<int>(), flags.per_chip_batch, flags.per_chip_batch, flags.cardinality,
      json["rows"].get<std::int64_t>(), json["ids_per_step"].get<std::int64_t>(), CpuName());
}

// --check: prints the largest error and says whether it is small enough.
bool Check(const BenchFlags& flags, const CheckResult& check, Json& json) {
  json["checked"] = check.ok;
  json["check_max_error"] = check.max_error;
  PrintResult(flags.common, fmt::format("check: {} samples, largest relative error {:.3g}: {}", check.samples,
                                        check.max_error, check.ok ? "ok" : "MISMATCH"));
  return check.ok;
}

void AddHashes(const BenchFlags& flags, Json& json, Trainer& trainer) {
  if (trainer.embeddings().LogicalBytes() > kHashedBytes && !flags.hash) {
    json["weights_hash"] = nullptr;
    json["state_hash"] = nullptr;
    return;
  }
  json["weights_hash"] = Hex(trainer.WeightsHash());
  json["state_hash"] = Hex(trainer.StateHash());
}

Json PhasesJson(const PhaseTimes& phases, std::int64_t steps) {
  Json json = Json::object();
  for (int p = 0; p < kPhases; ++p) {
    json[std::string(kPhaseNames[static_cast<std::size_t>(p)])] =
        1e3 * phases.seconds(static_cast<Phase>(p)) / static_cast<double>(steps);
  }
  return json;
}

std::string StepReport(const BenchFlags& flags, const Json& json, const std::vector<double>& step_seconds) {
  const auto ms = [&](const char* key) { return json["ms_per_step"][key].get<double>(); };
  std::string text = fmt::format(
      "{}\nms/step: {:.2f} mean over ranks, {:.2f} max over ranks, {:.2f} rank-0 median (10 % {:.2f}, 90 % "
      "{:.2f})\n"
      "{:.0f} samples/s, {:.3f} K samples/s/chip\n",
      Headline(flags, json), ms("mean_over_ranks"), ms("max_over_ranks"), ms("rank0_median"),
      1e3 * Quantile(step_seconds, 0.1), 1e3 * Quantile(step_seconds, 0.9),
      json["samples_per_s"].get<double>(), json["k_samples_per_s_per_chip"].get<double>());
  for (const auto& [name, value] : json["phases_ms"].items()) {
    if (value.get<double>() > 0) text += fmt::format("  {:<16} {:9.3f} ms\n", name, value.get<double>());
  }
  const double limit = json["limits"]["gemm_samples_per_s"].get<double>();
  text += fmt::format(
      "limit: the step's GEMMs alone {:.0f} samples/s ({:.3f} of it reached); row gather {:.2f} M rows/s",
      limit, json["samples_per_s"].get<double>() / limit,
      json["limits"]["gather_rows_per_s"].get<double>() / 1e6);
  if (json["weights_hash"].is_string()) text += "\nweights_hash " + json["weights_hash"].get<std::string>();
  return text;
}

int RunStep(const BenchFlags& flags, ThreadPool& pool) {
  const SyntheticConfig data = MakeData(flags);
  const DataDescription description = SyntheticSource(data).description();
  const TrainerConfig config =
      MakeTrainerConfig(flags.model, MakeModelConfig(flags.model, description), flags.common.seed);
  Json json = CommonFields(flags, data, pool);
  if (flags.check && !Check(flags, CheckStep(config, data, flags.per_chip_batch, pool), json)) {
    WriteJson(flags.common, json);
    return kFailed;
  }
  Trainer trainer(config, pool);
  const StepBenchmarkResult result = RunStepBenchmark(
      {.data = data, .batch_size = flags.per_chip_batch, .steps = flags.steps, .warmup = flags.warmup},
      trainer);

  const double mean = Mean(result.step_seconds);
  const auto batch = static_cast<double>(flags.per_chip_batch);
  json["micro_batch"] = trainer.tower().micro_batch();
  json["tables"] = ToString(config.storage);
  json["steps"] = flags.steps;
  json["warmup"] = flags.warmup;
  json["ms_per_step"] = {{"mean_over_ranks", 1e3 * mean},
                         {"max_over_ranks", 1e3 * mean},
                         {"rank0_median", 1e3 * Median(result.step_seconds)}};
  json["samples_per_s"] = batch / mean;
  json["k_samples_per_s_per_rank"] = batch / mean / 1e3;
  json["k_samples_per_s_per_chip"] = batch / mean / 1e3 * static_cast<double>(flags.ranks_per_chip);
  json["phases_ms"] = PhasesJson(result.phases, flags.steps);
  json["exposed_ms"] = Json::object();
  json["bytes"] = Json::object();
  json["limits"] = {{"gemm_samples_per_s", batch / Mean(result.limit_seconds)},
                    {"gather_rows_per_s", MeasureGatherLimit(trainer.embeddings(), pool)}};
  json["losses"] = result.losses;
  AddHashes(flags, json, trainer);
  json["model_bytes"] = trainer.ModelBytes();
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(flags.common, StepReport(flags, json, result.step_seconds));
  WriteJson(flags.common, json);
  return kDone;
}

int RunSparse(const BenchFlags& flags, ThreadPool& pool) {
  const SyntheticConfig data = MakeData(flags);
  const DataDescription description = SyntheticSource(data).description();
  const TrainerConfig config =
      MakeTrainerConfig(flags.model, MakeModelConfig(flags.model, description), flags.common.seed);
  Json json = CommonFields(flags, data, pool);
  if (flags.check && !Check(flags, CheckSparse(config, data, flags.per_chip_batch, pool), json)) {
    WriteJson(flags.common, json);
    return kFailed;
  }
  EmbeddingBagCollection embeddings(config.model.tables, config.model.features,
                                    {.optimizer = config.optimizer,
                                     .kernel = config.kernel,
                                     .storage = config.storage,
                                     .seed = config.seed},
                                    pool);
  const SparseBenchmarkResult result = RunSparseBenchmark({.features = config.model.features,
                                                           .data = data,
                                                           .batch_size = flags.per_chip_batch,
                                                           .reduction_units = config.reduction_units,
                                                           .steps = flags.steps,
                                                           .warmup = flags.warmup},
                                                          embeddings, pool);
  std::vector<double> step_seconds;
  for (std::size_t i = 0; i < result.forward_seconds.size(); ++i) {
    step_seconds.push_back(result.forward_seconds[i] + result.backward_seconds[i]);
  }
  const auto ids = static_cast<double>(result.ids_per_step);
  const double row_bytes = static_cast<double>(flags.model.embedding_dim) * sizeof(float);
  json["tables"] = ToString(config.storage);
  json["steps"] = flags.steps;
  json["warmup"] = flags.warmup;
  json["forward_ms"] = 1e3 * Median(result.forward_seconds);
  json["step_ms"] = 1e3 * Median(step_seconds);
  json["step_ms_mean"] = 1e3 * Mean(step_seconds);
  json["forward_rows_per_s"] = ids / Median(result.forward_seconds);
  json["forward_gb_s"] = ids * row_bytes / Median(result.forward_seconds) / 1e9;
  json["samples_per_s"] = static_cast<double>(flags.per_chip_batch) / Mean(step_seconds);
  json["limits"] = {{"gather_rows_per_s", MeasureGatherLimit(embeddings, pool)}};
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(
      flags.common,
      fmt::format("{}\nforward {:.2f} ms (median; {:.2f} M rows/s, {:.1f} GB/s)\nforward + backward + update "
                  "{:.2f} ms (median; 10 % {:.2f}, 90 % {:.2f})\nlimit: row gather {:.2f} M rows/s",
                  Headline(flags, json), json["forward_ms"].get<double>(),
                  json["forward_rows_per_s"].get<double>() / 1e6, json["forward_gb_s"].get<double>(),
                  json["step_ms"].get<double>(), 1e3 * Quantile(step_seconds, 0.1),
                  1e3 * Quantile(step_seconds, 0.9),
                  json["limits"]["gather_rows_per_s"].get<double>() / 1e6));
  WriteJson(flags.common, json);
  return kDone;
}

int RunGemm(const BenchFlags& flags, ThreadPool& pool) {
  if (flags.check) Fail("--check: --part gemm has nothing to check; valid with step and sparse");
  const SyntheticConfig data = MakeData(flags);
  const TrainerConfig config = MakeTrainerConfig(
      flags.model, MakeModelConfig(flags.model, SyntheticSource(data).description()), flags.common.seed);
  const std::int64_t units = config.reduction_units;
  DlrmTower tower(config.model);
  tower.Initialize(flags.common.seed, pool);
  UnitGradients gradients(tower.parameters().padded_size(), std::max<std::int64_t>(units, pool.size()));
  GemmLimit limit(tower, flags.per_chip_batch, units, gradients, pool);
  limit.RunOnce();
  std::vector<double> seconds;
  for (std::int64_t step = 0; step < std::max<std::int64_t>(3, flags.steps / 5); ++step) {
    seconds.push_back(limit.RunOnce());
  }
  Json json = CommonFields(flags, data, pool);
  for (const char* of_tables : {"kernel", "optimizer", "sharding", "recat_mode"}) json.erase(of_tables);
  const double median = Median(seconds);
  json["ms"] = 1e3 * median;
  json["gflops"] = limit.flop() / median / 1e9;
  json["samples_per_s"] = static_cast<double>(flags.per_chip_batch) / median;
  std::string text = fmt::format(
      "{}\nforward, dX and dW of a batch: {:.1f} ms (median), {:.1f} GFLOP/s, {:.0f} samples/s",
      Headline(flags, json), 1e3 * median, json["gflops"].get<double>(), json["samples_per_s"].get<double>());
  for (const GemmReport& report : limit.Report(0.1)) {
    json["products"].push_back({{"name", report.name},
                                {"m", report.m},
                                {"n", report.n},
                                {"k", report.k},
                                {"implementation", report.implementation},
                                {"reference_kernel", report.is_reference},
                                {"gflops", report.gflops}});
    text +=
        fmt::format("\n  {:<52} {:>5} x {:>5} x {:>5} {:8.1f} GFLOP/s  {}{}", report.name, report.m, report.n,
                    report.k, report.gflops, report.implementation, report.is_reference ? " SLOW" : "");
  }
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(flags.common, text);
  WriteJson(flags.common, json);
  return kDone;
}

int Run(BenchFlags& flags, CLI::App& app) {
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  CheckJsonTarget(flags.common);
  if (flags.ranks % flags.ranks_per_chip != 0) {
    Fail("--ranks-per-chip {}: does not divide the {} ranks of this run", flags.ranks_per_chip, flags.ranks);
  }
  ThreadPool pool(flags.common.ThreadCount());
  if (flags.part == "step") return RunStep(flags, pool);
  if (flags.part == "sparse") return RunSparse(flags, pool);
  if (flags.part == "gemm") return RunGemm(flags, pool);
  Fail("--part {}: valid: step, sparse, gemm", flags.part);
}

}  // namespace

Command AddBenchCommand(CLI::App& root) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = root.add_subcommand("bench", "Steady-state speed, with the machine's limit beside it");
  AddFlags(*app, *flags);
  return {app, [flags, app] { return Run(*flags, *app); }};
}

}  // namespace hotrow::cli
