// hotrow bench --part recat: one rank's recat of the ids that `--ranks` sources sent it, with a plain copy of
// the same ids measured in turn.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "hotrow/base/system.h"
#include "hotrow/benchmark/statistics.h"
#include "hotrow/dist/recat_benchmark.h"

namespace hotrow::cli {

using Json = nlohmann::ordered_json;

int BenchRecat(const BenchFlags& flags, ThreadPool& pool) {
  const SyntheticConfig data = MakeBenchData(flags);
  const int id_bytes = WireIdBytes(flags, data);
  const RecatBenchmarkResult result = RunRecat({.mode = ParseRecatMode(flags.over.recat_mode),
                                                .sources = flags.over.ranks,
                                                .samples = flags.per_chip_batch,
                                                .sizes = data.bag_sizes,
                                                .id_bytes = id_bytes,
                                                .warmup = flags.warmup,
                                                .steps = flags.steps},
                                               pool);
  const double seconds = Median(result.seconds);
  const double copy = Median(result.copy_seconds);
  const std::int64_t payload = result.ids * id_bytes;
  Json json = BenchFields(flags, data, pool.size());
  DropModelFields(json);
  json["measured"] = "the recat of one rank, which received the ids of all `world` ranks, on all threads";
  json["id_bytes"] = id_bytes;
  json["steps"] = flags.steps;
  json["warmup"] = flags.warmup;
  json["ms"] = 1e3 * seconds;
  json["ms_10_percent"] = 1e3 * Quantile(result.seconds, 0.1);
  json["ms_90_percent"] = 1e3 * Quantile(result.seconds, 0.9);
  json["gb_s"] = GigabytesPerSecond(payload, seconds);
  json["payload_bytes"] = payload;
  json["bytes"] = {{"recat", result.bytes_moved}};
  json["limits"] = {{"copy_ms", 1e3 * copy}, {"copy_gb_s", GigabytesPerSecond(payload, copy)}};
  json["checked"] = true;  // RunRecat compares its result with the definition
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(
      flags.common,
      fmt::format("{}\nrecat {} of {} sources, {}-byte ids: {:.3f} ms (median; 10 % {:.3f}, 90 % {:.3f}), "
                  "{:.2f} GB/s of ids; {:.1f} MB read and written\n"
                  "limit: a plain copy of the ids {:.3f} ms, {:.2f} GB/s",
                  BenchHeadline(flags, json), flags.over.recat_mode, flags.over.ranks, id_bytes,
                  1e3 * seconds, json["ms_10_percent"].get<double>(), json["ms_90_percent"].get<double>(),
                  json["gb_s"].get<double>(), static_cast<double>(result.bytes_moved) / 1e6, 1e3 * copy,
                  json["limits"]["copy_gb_s"].get<double>()));
  WriteJson(flags.common, json);
  return kDone;
}

}  // namespace hotrow::cli
