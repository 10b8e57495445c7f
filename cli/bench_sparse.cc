// hotrow bench --part sparse: lookup, backward and update of the tables, without a tower.

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "hotrow/base/system.h"
#include "hotrow/benchmark/sparse_benchmark.h"
#include "hotrow/benchmark/statistics.h"
#include "hotrow/embed/gather_limit.h"

namespace hotrow::cli {

using Json = nlohmann::ordered_json;

int BenchSparse(const BenchFlags& flags, ThreadPool& pool) {
  const SyntheticConfig data = MakeBenchData(flags);
  const DataDescription description = SyntheticSource(data).description();
  const TrainerConfig config =
      MakeTrainerConfig(flags.model, MakeModelConfig(flags.model, description), flags.common.seed);
  Json json = BenchFields(flags, data, pool.size());
  if (flags.check && !ReportCheck(flags, CheckSparse(config, data, flags.per_chip_batch, pool), json)) {
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
                  BenchHeadline(flags, json), json["forward_ms"].get<double>(),
                  json["forward_rows_per_s"].get<double>() / 1e6, json["forward_gb_s"].get<double>(),
                  json["step_ms"].get<double>(), 1e3 * Quantile(step_seconds, 0.1),
                  1e3 * Quantile(step_seconds, 0.9),
                  json["limits"]["gather_rows_per_s"].get<double>() / 1e6));
  WriteJson(flags.common, json);
  return kDone;
}

}  // namespace hotrow::cli
