// hotrow bench --part alltoall: the exchanges of a column-wise step, ids and pooled rows, over thread ranks
// or the processes of mpirun, with a memcpy of as many bytes measured in turn.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "cli/run_ranks.h"
#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/system.h"
#include "hotrow/measure/alltoall_benchmark.h"
#include "hotrow/measure/statistics.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

AllToAllBenchmarkConfig MakeConfig(const BenchFlags& flags, const SyntheticConfig& data) {
  AllToAllBenchmarkConfig config{
      .samples = flags.per_chip_batch,
      .ids_per_sample = 0,
      .id_bytes = WireIdBytes(flags, data),
      .pooled_columns = flags.model.embedding_dim * static_cast<std::int64_t>(data.rows.size()),
      .warmup = flags.warmup,
      .steps = flags.steps};
  for (const std::int32_t size : data.bag_sizes) config.ids_per_sample += size;
  return config;
}

void CheckFits(const AllToAllBenchmarkConfig& config, std::int64_t world, std::int64_t ranks_here) {
  const std::int64_t needed = CheckedMul(AllToAllMemory(config, world), ranks_here);
  const std::int64_t available = AvailableMemory();
  if (needed <= available) return;
  Fail(
      "--part alltoall: the buffers of {} ranks on this machine need {:.1f} GiB, {:.1f} GiB are "
      "available; valid: fewer --ranks or a smaller --per-chip-batch",
      ranks_here, GiB(needed), GiB(available));
}

Json ExchangeJson(const ExchangeTimes& times) {
  const double seconds = Median(times.seconds);
  const double copy = Median(times.copy_seconds);
  return {{"payload_bytes", times.payload_bytes},
          {"ms", 1e3 * seconds},
          {"gb_s", GigabytesPerSecond(times.payload_bytes, seconds)},
          {"copy_ms", 1e3 * copy},
          {"copy_gb_s", GigabytesPerSecond(times.payload_bytes, copy)}};
}

std::string ExchangeText(const char* what, const Json& exchange) {
  return fmt::format(
      "\n  {:<12} {:9.3f} ms, {:6.2f} GB/s a rank of {:.1f} MB; limit: memcpy {:.3f} ms, {:.2f} GB/s", what,
      exchange["ms"].get<double>(), exchange["gb_s"].get<double>(),
      exchange["payload_bytes"].get<double>() / 1e6, exchange["copy_ms"].get<double>(),
      exchange["copy_gb_s"].get<double>());
}

std::vector<double> Sum(std::vector<double> a, const std::vector<double>& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), [](double x, double y) { return x + y; });
  return a;
}

Json ResultJson(const BenchFlags& flags, const SyntheticConfig& data, const AllToAllBenchmarkConfig& config,
                const RanksOfHost& host, const AllToAllBenchmarkResult& result) {
  const std::vector<double> both = Sum(result.ids.seconds, result.pooled.seconds);
  const double seconds = Median(both);
  const double copy = Median(Sum(result.ids.copy_seconds, result.pooled.copy_seconds));
  const std::int64_t payload = result.ids.payload_bytes + result.pooled.payload_bytes;
  Json json = BenchFields(flags, data, host.count);
  DropModelFields(json);
  json.erase("recat_mode");
  json["measured"] =
      "what a column-wise step exchanges forward, all ids to every rank and pooled rows to the samples' "
      "ranks; ms of the slowest rank, gb_s of what one rank receives, its own part included";
  json["transport"] = host.transport;
  json["id_bytes"] = config.id_bytes;
  json["embedding_dim"] = flags.model.embedding_dim;
  json["steps"] = flags.steps;
  json["warmup"] = flags.warmup;
  json["ms"] = 1e3 * seconds;
  json["ms_10_percent"] = 1e3 * Quantile(both, 0.1);
  json["ms_90_percent"] = 1e3 * Quantile(both, 0.9);
  json["gb_s"] = GigabytesPerSecond(payload, seconds);
  json["payload_bytes"] = payload;
  json["exchanges"] = {{"input_dist", ExchangeJson(result.ids)},
                       {"output_dist", ExchangeJson(result.pooled)}};
  json["bytes"] = {{"input_dist", result.ids.sent_bytes}, {"output_dist", result.pooled.sent_bytes}};
  json["limits"] = {{"copy_ms", 1e3 * copy}, {"copy_gb_s", GigabytesPerSecond(payload, copy)}};
  json["checked"] = true;  // RunAllToAll compares what arrived with what was sent
  json["peak_rss_bytes"] = PeakResidentBytes();
  return json;
}

std::string AllToAllReport(const BenchFlags& flags, const Json& json) {
  const double moved = json["bytes"]["input_dist"].get<double>() + json["bytes"]["output_dist"].get<double>();
  return fmt::format(
      "{}\nexchanges over {} ranks ({}): {:.3f} ms (median; 10 % {:.3f}, 90 % {:.3f}), {:.2f} GB/s a "
      "rank; {:.1f} MB between ranks{}{}",
      BenchHeadline(flags, json), flags.over.ranks, json["transport"].get<std::string>(),
      json["ms"].get<double>(), json["ms_10_percent"].get<double>(), json["ms_90_percent"].get<double>(),
      json["gb_s"].get<double>(), moved / 1e6, ExchangeText("input_dist", json["exchanges"]["input_dist"]),
      ExchangeText("output_dist", json["exchanges"]["output_dist"]));
}

}  // namespace

int BenchAllToAll(const BenchFlags& flags, MpiSession* processes) {
  const SyntheticConfig data = MakeBenchData(flags);
  if (flags.model.embedding_dim < 1) Fail("--embedding-dim {}: valid: 1 or more", flags.model.embedding_dim);
  const AllToAllBenchmarkConfig config = MakeConfig(flags, data);
  return RunRanks(processes, flags.over.ranks, [&](Communicator& world, const RanksOfHost& host) {
    CheckFits(config, world.size(), host.count);
    const AllToAllBenchmarkResult result = RunAllToAll(config, world);
    if (world.rank() == 0) {
      BenchFlags here = flags;
      here.over.ranks = world.size();
      const Json json = ResultJson(here, data, config, host, result);
      PrintResult(here.common, AllToAllReport(here, json));
      WriteJson(here.common, json);
    }
    return static_cast<int>(kDone);
  });
}

}  // namespace hotrow::cli
