#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "hotrow/machine/system.h"
#include "hotrow/measure/bench_report.h"
#include "hotrow/measure/statistics.h"

namespace hotrow {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json HashJson(const std::optional<std::uint64_t>& hash) {
  return hash ? Json(fmt::format("{:016x}", *hash)) : Json(nullptr);
}

// What every part begins with.
Json RunJson(const BenchRun& run) {
  const BenchConfig& config = run.config;
  return {{"command", "bench"},
          {"part", run.part},
          {"version", HOTROW_VERSION},
          {"cpu", CpuName()},
          {"world", run.world},
          {"threads", run.threads},
          {"per_chip_batch", config.per_chip_batch},
          {"global_batch", run.global_batch()},
          {"cardinality", config.cardinality},
          {"rows", run.rows()},
          {"ids_per_step", run.ids_per_step()},
          {"ids", ToString(config.data.ids)},
          {"seed", config.data.seed}};
}

// Null where the tables differ.
Json OptimizerJson(const ModelConfig& model) {
  const OptimizerKind kind = model.tables.front().optimizer.kind;
  const auto same = [&](const EmbeddingTableConfig& table) { return table.optimizer.kind == kind; };
  return std::ranges::all_of(model.tables, same) ? Json(ToString(kind)) : Json(nullptr);
}

// Of the parts that train: how.
Json TrainedRunJson(const BenchRun& run) {
  const TrainerConfig& trainer = run.config.trainer;
  Json json = RunJson(run);
  json["sharding"] = run.config.sharding;
  json["kernel"] = trainer.kernel == BackwardKernel::kFused ? "fused" : "unfused";
  json["recat_mode"] = ToString(trainer.dist.recat);
  json["optimizer"] = OptimizerJson(trainer.model);
  json["precision"] = "fp32";
  json["reduction_units"] = trainer.reduction_units;
  json["transport"] = run.transport;
  json["output_permute"] = trainer.dist.output_permute == OutputPermute::kCpu ? "cpu" : "none";
  if (run.part == "step") json["pipeline"] = run.config.pipeline ? "on" : "off";
  return json;
}

void AddCheck(const std::optional<CheckResult>& check, Json& json) {
  if (!check) return;
  json["checked"] = check->ok;
  json["check_max_error"] = check->max_error;
}

// Milliseconds a step of every phase, by name: what a rank spends in it, waiting for others included.
Json PhasesJson(const PhaseTimes& phases, std::int64_t steps) {
  Json json = Json::object();
  for (int p = 0; p < kPhases; ++p) {
    json[std::string(kPhaseNames[static_cast<std::size_t>(p)])] =
        1e3 * phases.seconds(static_cast<Phase>(p)) / static_cast<double>(steps);
  }
  return json;
}

// Of the phases that move data, the part that stands in the step's way: less what a rank's thread spent in
// them while its other threads worked on another phase. What the network or a peer moves by itself is in no
// phase's time to begin with.
Json ExposedJson(const PhaseTimes& phases, std::int64_t steps) {
  Json json = Json::object();
  for (const Phase phase :
       {Phase::kInputDist, Phase::kOutputDist, Phase::kGradDist, Phase::kDenseAllReduce}) {
    json[std::string(kPhaseNames[static_cast<std::size_t>(phase)])] =
        1e3 * (phases.seconds(phase) - phases.overlapped(phase)) / static_cast<double>(steps);
  }
  return json;
}

// Bytes a step of every phase that moved any, by name.
Json BytesJson(const PhaseBytes& bytes, std::int64_t steps) {
  Json json = Json::object();
  for (int p = 0; p < kPhases; ++p) {
    const std::int64_t moved = bytes.bytes(static_cast<Phase>(p));
    if (moved > 0) json[std::string(kPhaseNames[static_cast<std::size_t>(p)])] = moved / steps;
  }
  return json;
}

void AddPhases(const BenchRun& run, const PhaseTimes& phases, const PhaseBytes& bytes, Json& json) {
  json["phases_ms"] = PhasesJson(phases, run.config.steps);
  json["exposed_ms"] = ExposedJson(phases, run.config.steps);
  json["bytes"] = BytesJson(bytes, run.config.steps);
}

void AddSteps(const BenchRun& run, Json& json) {
  json["steps"] = run.config.steps;
  json["warmup"] = run.config.warmup;
}

void AddRowLimits(const std::optional<WorldRowLimits>& rows, Json& limits) {
  if (!rows) return;
  limits["gather_rows_per_s"] = rows->gather_rows_per_s;
  limits["update_rows_per_s"] = rows->update_rows_per_s;
}

Json CopyJson(std::int64_t payload_bytes, const std::vector<double>& copy_seconds) {
  const double copy = Median(copy_seconds);
  return {{"copy_ms", 1e3 * copy}, {"copy_gb_s", OrNull(GigabytesPerSecond(payload_bytes, copy))}};
}

Json ExchangeJson(const ExchangeTimes& times) {
  const double seconds = Median(times.seconds);
  Json json = {{"payload_bytes", times.payload_bytes},
               {"ms", 1e3 * seconds},
               {"gb_s", OrNull(GigabytesPerSecond(times.payload_bytes, seconds))}};
  json.update(CopyJson(times.payload_bytes, times.copy_seconds));
  return json;
}

// Median and spread of times; null for none: a 0 would be a measurement.
void AddSpread(const std::vector<double>& seconds, std::int64_t payload_bytes, Json& json) {
  for (const char* key : {"ms", "ms_10_percent", "ms_90_percent", "gb_s"}) json[key] = nullptr;
  if (seconds.empty()) return;
  json["ms"] = 1e3 * Median(seconds);
  json["ms_10_percent"] = 1e3 * Quantile(seconds, 0.1);
  json["ms_90_percent"] = 1e3 * Quantile(seconds, 0.9);
  json["gb_s"] = OrNull(GigabytesPerSecond(payload_bytes, Median(seconds)));
}

// Null where the tables differ.
Json EmbeddingDimJson(const ModelConfig& model) {
  const std::int64_t dim = model.tables.front().embedding_dim;
  const auto same = [&](const EmbeddingTableConfig& table) { return table.embedding_dim == dim; };
  return std::ranges::all_of(model.tables, same) ? Json(dim) : Json(nullptr);
}

}  // namespace

Json ToJson(const BenchRun& run, const CheckResult& check) {
  Json json = TrainedRunJson(run);
  AddCheck(check, json);
  return json;
}

Json ToJson(const StepResult& result) {
  Json json = TrainedRunJson(result.run);
  AddCheck(result.check, json);
  json["micro_batch"] = result.micro_batch;
  json["tables"] = ToString(result.run.config.trainer.storage);
  AddSteps(result.run, json);
  json["ms_per_step"] = {{"mean_over_ranks", result.mean_over_ranks_ms},
                         {"max_over_ranks", result.max_over_ranks_ms},
                         {"rank0_median", result.rank0_median_ms}};
  json["samples_per_s"] = result.samples_per_s;
  json["k_samples_per_s_per_rank"] = result.k_samples_per_s_per_rank;
  json["k_samples_per_s_per_chip"] = result.k_samples_per_s_per_chip;
  AddPhases(result.run, result.phases, result.bytes, json);
  json["limits"] = Json::object();
  if (result.gemm_samples_per_s) json["limits"]["gemm_samples_per_s"] = *result.gemm_samples_per_s;
  AddRowLimits(result.rows, json["limits"]);
  json["ratios"] = {{"tower_to_gemm", OrNull(result.ratios.tower_to_gemm)},
                    {"rows_to_memory", OrNull(result.ratios.rows_to_memory)},
                    {"step_to_floor", OrNull(result.ratios.step_to_floor)}};
  json["losses"] = result.losses;
  json["weights_hash"] = HashJson(result.weights_hash);
  json["state_hash"] = HashJson(result.state_hash);
  json["model_bytes"] = result.model_bytes;
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  return json;
}

Json ToJson(const SparseResult& result) {
  Json json = TrainedRunJson(result.run);
  AddCheck(result.check, json);
  json["tables"] = ToString(result.run.config.trainer.storage);
  AddSteps(result.run, json);
  json["forward_ms"] = result.forward_ms;
  json["step_ms"] = result.step_ms;
  json["step_ms_mean"] = result.step_ms_mean;
  json["forward_rows_per_s"] = result.forward_rows_per_s;
  json["forward_gb_s"] = result.forward_gb_s;
  json["samples_per_s"] = result.samples_per_s;
  AddPhases(result.run, result.phases, result.bytes, json);
  json["touched_rows_per_step"] = result.work.rows_updated;
  json["limits"] = Json::object();
  AddRowLimits(result.rows, json["limits"]);
  if (result.rows) json["limits"]["memory_ms"] = 1e3 * result.rows->SecondsOf(result.work);
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  return json;
}

Json ToJson(const AllToAllResult& result) {
  Json json = RunJson(result.run);
  json["measured"] =
      "what a column-wise step exchanges forward, all ids to every rank and pooled rows to the samples' "
      "ranks; ms of the slowest rank, gb_s of what one rank receives, its own part included";
  json["transport"] = result.run.transport;
  json["id_bytes"] = result.id_bytes;
  json["embedding_dim"] = EmbeddingDimJson(result.run.config.trainer.model);
  AddSteps(result.run, json);
  AddSpread(result.both.seconds, result.both.payload_bytes, json);
  json["payload_bytes"] = result.both.payload_bytes;
  json["exchanges"] = {{"input_dist", ExchangeJson(result.ids)},
                       {"output_dist", ExchangeJson(result.pooled)}};
  json["bytes"] = {{"input_dist", result.ids.sent_bytes}, {"output_dist", result.pooled.sent_bytes}};
  json["limits"] = CopyJson(result.both.payload_bytes, result.both.copy_seconds);
  json["checked"] = true;  // RunAllToAll compares what arrived with what was sent
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  return json;
}

Json ToJson(const RecatResult& result) {
  const bool moves = !result.seconds.empty();
  Json json = RunJson(result.run);
  json["recat_mode"] = ToString(result.run.config.trainer.dist.recat);
  json["measured"] =
      moves ? "the recat of one rank, which received the ids of all `world` ranks, on all threads"
            : "only a plain copy: the lookup reads the ids as they arrived, and that is in its time";
  json["id_bytes"] = result.id_bytes;
  AddSteps(result.run, json);
  AddSpread(result.seconds, result.payload_bytes(), json);
  json["checked"] = moves ? Json(true) : Json(nullptr);  // RunRecat compares its result with the definition
  json["payload_bytes"] = result.payload_bytes();
  json["bytes"] = {{"recat", result.bytes_moved}};
  json["limits"] = CopyJson(result.payload_bytes(), result.copy_seconds);
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  return json;
}

Json ToJson(const GemmResult& result) {
  Json json = RunJson(result.run);
  json["precision"] = "fp32";
  json["reduction_units"] = result.run.config.trainer.reduction_units;
  AddSteps(result.run, json);
  json["ms"] = result.ms;
  json["gflops"] = result.gflops;
  json["samples_per_s"] = result.samples_per_s;
  for (const GemmReport& product : result.products) {
    json["products"].push_back({{"name", product.name},
                                {"m", product.m},
                                {"n", product.n},
                                {"k", product.k},
                                {"implementation", product.implementation},
                                {"reference_kernel", product.is_reference},
                                {"gflops", product.gflops}});
  }
  json["peak_rss_bytes"] = result.peak_rss_bytes;
  return json;
}

}  // namespace hotrow
