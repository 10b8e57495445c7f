// hotrow bench --part sparse: lookup, backward and update of the tables, without a tower.

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "cli/run_ranks.h"
#include "hotrow/measure/sparse_benchmark.h"
#include "hotrow/measure/statistics.h"

namespace hotrow::cli {

using Json = nlohmann::ordered_json;

namespace {

std::string SparseReport(const BenchFlags& flags, const Json& json, const std::vector<double>& step_seconds) {
  std::string text = fmt::format(
      "{}\nforward {:.2f} ms (median; {:.2f} M rows/s, {:.1f} GB/s)\nforward + backward + update {:.2f} "
      "ms (median; 10 % {:.2f}, 90 % {:.2f})\n",
      BenchHeadline(flags, json), json["forward_ms"].get<double>(),
      json["forward_rows_per_s"].get<double>() / 1e6, json["forward_gb_s"].get<double>(),
      json["step_ms"].get<double>(), 1e3 * Quantile(step_seconds, 0.1), 1e3 * Quantile(step_seconds, 0.9));
  const Json& limits = json["limits"];
  const auto memory_ms = limits["memory_ms"].get<double>();
  return text + PhaseLines(json) +
         fmt::format(
             "limit: rows read {:.1f} M/s, rows updated {:.1f} M/s; for the {} read and {} updated a "
             "step {:.2f} ms ({:.3f} of it reached)",
             limits["gather_rows_per_s"].get<double>() / 1e6, limits["update_rows_per_s"].get<double>() / 1e6,
             json["ids_per_step"].get<std::int64_t>(), json["touched_rows_per_step"].get<std::int64_t>(),
             memory_ms, memory_ms / json["step_ms"].get<double>());
}

// On every rank alike.
bool Check(const BenchFlags& flags, const TrainerConfig& config, const SyntheticConfig& data,
           Communicator& comm, ThreadPool& pool, Json& json) {
  const CheckResult check = CheckSparse(config, data, GlobalBatch(flags), comm, pool);
  if (comm.rank() == 0) {
    ReportCheck(flags, check, json);
    if (!check.ok) WriteJson(flags.common, json);
  }
  return check.ok;
}

std::vector<double> StepSeconds(const SparseBenchmarkResult& result) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < result.forward_seconds.size(); ++i)
    seconds.push_back(result.forward_seconds[i] + result.backward_seconds[i]);
  return seconds;
}

void AddTimes(const BenchFlags& flags, const SparseBenchmarkResult& result, Json& json) {
  const std::vector<double> step_seconds = StepSeconds(result);
  const auto ids = json["ids_per_step"].get<double>();
  const double row_bytes = static_cast<double>(flags.model.embedding_dim) * sizeof(float);
  json["steps"] = flags.steps;
  json["warmup"] = flags.warmup;
  json["forward_ms"] = 1e3 * Median(result.forward_seconds);
  json["step_ms"] = 1e3 * Median(step_seconds);
  json["step_ms_mean"] = 1e3 * Mean(step_seconds);
  json["forward_rows_per_s"] = ids / Median(result.forward_seconds);
  json["forward_gb_s"] = ids * row_bytes / Median(result.forward_seconds) / 1e9;
  json["samples_per_s"] = static_cast<double>(GlobalBatch(flags)) / Mean(step_seconds);
  json["phases_ms"] = PhasesJson(result.phases, flags.steps);
  json["exposed_ms"] = ExposedJson(result.phases, flags.steps);
  json["bytes"] = BytesJson(result.bytes, flags.steps);
}

// memory_ms: what the rows of a step would take at the limits' rates, read once and updated once.
void AddLimits(const Json& limits, std::int64_t touched_rows, Json& json) {
  json["touched_rows_per_step"] = touched_rows;
  json["limits"] = limits;
  json["limits"]["memory_ms"] =
      1e3 * (json["ids_per_step"].get<double>() / limits["gather_rows_per_s"].get<double>() +
             static_cast<double>(touched_rows) / limits["update_rows_per_s"].get<double>());
}

// One rank's part in a run.
int Run(BenchFlags flags, Communicator& comm, const RanksOfHost& host) {
  flags.over.ranks = comm.size();
  ThreadPool pool(ThreadsOfRank(flags.common, comm, host));
  const SyntheticConfig data = MakeBenchData(flags);
  const TrainerConfig config = MakeBenchConfig(flags, data, comm, host);
  Json json = BenchFields(flags, data, ProcessThreads(comm, pool.size()));
  json["transport"] = host.transport;
  json["reduction_units"] = config.reduction_units;
  json["output_permute"] = flags.over.output_permute;
  if (flags.check && !Check(flags, config, data, comm, pool, json)) return kFailed;
  ShardedEmbeddingBagCollection embeddings(config.model.tables, config.model.features, config.plan.value(),
                                           {.optimizer = config.optimizer,
                                            .kernel = config.kernel,
                                            .storage = config.storage,
                                            .seed = config.seed},
                                           config.dist, comm, pool);
  const SparseBenchmarkResult result = RunSparseBenchmark({.num_features = config.model.num_features(),
                                                           .data = data,
                                                           .global_batch = GlobalBatch(flags),
                                                           .reduction_units = config.reduction_units,
                                                           .steps = flags.steps,
                                                           .warmup = flags.warmup,
                                                           .on_step = ProgressOf(flags, comm)},
                                                          embeddings, comm, pool);
  json["tables"] = ToString(config.storage);
  AddTimes(flags, result, json);
  AddLimits(RowLimitsJson(embeddings, comm, pool), CountTouchedRows(data, GlobalBatch(flags), pool), json);
  json["peak_rss_bytes"] = PeakRss(comm);
  if (comm.rank() != 0) return kDone;
  PrintResult(flags.common, SparseReport(flags, json, StepSeconds(result)));
  WriteJson(flags.common, json);
  return kDone;
}

}  // namespace

int BenchSparse(const BenchFlags& flags, MpiSession* processes) {
  return RunRanks(processes, flags.over.ranks,
                  [&](Communicator& comm, const RanksOfHost& host) { return Run(flags, comm, host); });
}

}  // namespace hotrow::cli
