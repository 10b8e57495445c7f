#include "cli/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/bench_progress.h"
#include "cli/hash_limit.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/data/presets.h"
#include "hotrow/machine/system.h"
#include "hotrow/measure/row_limits.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t Sum(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t v : values) sum = CheckedAdd(sum, v);
  return sum;
}

// A cap larger than every table is most likely not what was meant.
std::string CapText(const BenchFlags& flags) {
  if (flags.max_rows <= 0) return "";
  const auto cut = [&](std::int64_t rows) { return rows > flags.max_rows; };
  return fmt::format(", {} by --max-rows {}",
                     std::ranges::any_of(ParseRows(flags.cardinality), cut) ? "capped" : "none capped",
                     flags.max_rows);
}

std::string Hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

Json BenchFields(const BenchFlags& flags, const SyntheticConfig& data, int threads) {
  std::int64_t ids = 0;
  for (const std::int32_t size : data.bag_sizes) ids += size;
  return {{"command", "bench"},
          {"part", flags.part},
          {"version", HOTROW_VERSION},
          {"cpu", CpuName()},
          {"world", flags.over.ranks},
          {"threads", threads},
          {"per_chip_batch", flags.per_chip_batch},
          {"global_batch", GlobalBatch(flags)},
          {"cardinality", flags.cardinality},
          {"rows", Sum(data.rows)},
          {"ids_per_step", ids * GlobalBatch(flags)},
          {"ids", flags.ids},
          {"seed", flags.common.seed},
          {"sharding", flags.over.sharding},
          {"kernel", flags.model.kernel},
          {"recat_mode", flags.over.recat_mode},
          {"optimizer", flags.model.optimizer},
          {"precision", flags.model.precision},
          {"reduction_units", flags.model.reduction_units}};
}

void DropModelFields(Json& json) {
  for (const char* field : {"sharding", "kernel", "optimizer", "precision", "reduction_units"})
    json.erase(field);
}

std::string BenchHeadline(const BenchFlags& flags, const Json& json) {
  return fmt::format(
      "world {}, {} threads, per-chip batch {}, global batch {}\ncardinality {} ({} rows{}), {} ids a "
      "step\n{}",
      flags.over.ranks, json["threads"].get<int>(), flags.per_chip_batch,
      json["global_batch"].get<std::int64_t>(), flags.cardinality, json["rows"].get<std::int64_t>(),
      CapText(flags), json["ids_per_step"].get<std::int64_t>(), CpuName());
}

std::function<void(std::int64_t)> ProgressOf(const BenchFlags& flags, const Communicator& comm) {
  if (comm.rank() != 0) return nullptr;
  return BenchProgress(flags.common, flags.warmup, flags.steps);
}

double GigabytesPerSecond(std::int64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
}

bool ReportCheck(const BenchFlags& flags, const CheckResult& check, Json& json) {
  json["checked"] = check.ok;
  json["check_max_error"] = check.max_error;
  PrintResult(flags.common, fmt::format("check: {} samples, largest relative error {:.3g}: {}", check.samples,
                                        check.max_error, check.ok ? "ok" : "MISMATCH"));
  return check.ok;
}

void AddHashes(const BenchFlags& flags, Trainer& trainer, Json& json) {
  if (trainer.TableBytes() > kHashedBytes && !flags.hash) {
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

Json ExposedJson(const PhaseTimes& phases, std::int64_t steps) {
  Json json = Json::object();
  for (const Phase phase :
       {Phase::kInputDist, Phase::kOutputDist, Phase::kGradDist, Phase::kDenseAllReduce}) {
    json[std::string(kPhaseNames[static_cast<std::size_t>(phase)])] =
        1e3 * (phases.seconds(phase) - phases.overlapped(phase)) / static_cast<double>(steps);
  }
  return json;
}

Json BytesJson(const PhaseBytes& bytes, std::int64_t steps) {
  Json json = Json::object();
  for (int p = 0; p < kPhases; ++p) {
    const std::int64_t moved = bytes.bytes(static_cast<Phase>(p));
    if (moved > 0) json[std::string(kPhaseNames[static_cast<std::size_t>(p)])] = moved / steps;
  }
  return json;
}

std::string PhaseLines(const Json& json) {
  std::string text;
  for (const auto& [name, value] : json["phases_ms"].items()) {
    if (value.get<double>() <= 0) continue;
    text += fmt::format("  {:<16} {:9.3f} ms", name, value.get<double>());
    const std::int64_t bytes = json["bytes"].value(name, std::int64_t{0});
    if (bytes > 0) text += fmt::format("  {:10.3f} MB moved", static_cast<double>(bytes) / 1e6);
    text += "\n";
  }
  return text;
}

TrainerConfig MakeBenchConfig(const BenchFlags& flags, const SyntheticConfig& data, const Communicator& comm,
                              const RanksOfHost& host) {
  TrainerConfig config = MakeTrainerConfig(
      flags.model, MakeModelConfig(flags.model, SyntheticSource(data).description()), flags.common.seed);
  const std::vector<double> ids(data.bag_sizes.begin(), data.bag_sizes.end());
  PlaceOnRanks(flags.over, flags.model, ids, comm, host, config);
  return config;
}

Json RowLimitsJson(const ShardedEmbeddingBagCollection& embeddings, Communicator& comm, ThreadPool& pool) {
  comm.Barrier();
  const RowLimits limits = MeasureRowLimits(embeddings.shards(), pool);
  const auto dim = static_cast<double>(embeddings.table_config(0).embedding_dim);
  return {{"gather_rows_per_s", AllReduceSum(comm, limits.gather.weights_per_s) / dim},
          {"update_rows_per_s", AllReduceSum(comm, limits.update.weights_per_s) / dim}};
}

}  // namespace hotrow::cli
