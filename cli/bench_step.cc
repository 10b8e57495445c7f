// hotrow bench --part step: the whole training step, with the limit of its matrix products measured in
// between.

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "hotrow/base/system.h"
#include "hotrow/benchmark/statistics.h"
#include "hotrow/benchmark/step_benchmark.h"
#include "hotrow/embed/gather_limit.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string StepReport(const BenchFlags& flags, const Json& json, const std::vector<double>& step_seconds) {
  const auto ms = [&](const char* key) { return json["ms_per_step"][key].get<double>(); };
  std::string text = fmt::format(
      "{}\nms/step: {:.2f} mean over ranks, {:.2f} max over ranks, {:.2f} rank-0 median (10 % {:.2f}, 90 % "
      "{:.2f})\n"
      "{:.0f} samples/s, {:.3f} K samples/s/chip\n",
      BenchHeadline(flags, json), ms("mean_over_ranks"), ms("max_over_ranks"), ms("rank0_median"),
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

}  // namespace

int BenchStep(const BenchFlags& flags, ThreadPool& pool) {
  const SyntheticConfig data = MakeBenchData(flags);
  const DataDescription description = SyntheticSource(data).description();
  const TrainerConfig config =
      MakeTrainerConfig(flags.model, MakeModelConfig(flags.model, description), flags.common.seed);
  Json json = BenchFields(flags, data, pool.size());
  if (flags.check && !ReportCheck(flags, CheckStep(config, data, flags.per_chip_batch, pool), json)) {
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
  AddHashes(flags, trainer, json);
  json["model_bytes"] = trainer.ModelBytes();
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(flags.common, StepReport(flags, json, result.step_seconds));
  WriteJson(flags.common, json);
  return kDone;
}

}  // namespace hotrow::cli
