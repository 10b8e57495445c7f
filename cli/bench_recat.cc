// hotrow bench --part recat: one rank's recat of the ids that `--ranks` sources sent it, with a plain copy of
// the same ids measured in turn.

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/bench_parts.h"
#include "cli/bench_report.h"
#include "hotrow/machine/system.h"
#include "hotrow/measure/recat_benchmark.h"
#include "hotrow/measure/statistics.h"

namespace hotrow::cli {

using Json = nlohmann::ordered_json;

namespace {

// Null where nothing was timed or checked: a 0 would be a measurement.
void AddTimes(const RecatBenchmarkResult& result, std::int64_t payload, Json& json) {
  for (const char* key : {"ms", "ms_10_percent", "ms_90_percent", "gb_s", "checked"}) json[key] = nullptr;
  if (result.seconds.empty()) return;
  const double seconds = Median(result.seconds);
  json["ms"] = 1e3 * seconds;
  json["ms_10_percent"] = 1e3 * Quantile(result.seconds, 0.1);
  json["ms_90_percent"] = 1e3 * Quantile(result.seconds, 0.9);
  json["gb_s"] = GigabytesPerSecond(payload, seconds);
  json["checked"] = true;  // RunRecat compares its result with the definition
}

std::string RecatReport(const BenchFlags& flags, const Json& json) {
  std::string text = fmt::format("{}\nrecat {} of {} sources, {}-byte ids: ", BenchHeadline(flags, json),
                                 flags.over.recat_mode, flags.over.ranks, json["id_bytes"].get<int>());
  if (json["ms"].is_null()) {
    text += "nothing to time: the lookup reads the ids as they arrived";
  } else {
    text += fmt::format(
        "{:.3f} ms (median; 10 % {:.3f}, 90 % {:.3f}), {:.2f} GB/s of ids; {:.1f} MB read and written",
        json["ms"].get<double>(), json["ms_10_percent"].get<double>(), json["ms_90_percent"].get<double>(),
        json["gb_s"].get<double>(), json["bytes"]["recat"].get<double>() / 1e6);
  }
  return text + fmt::format("\nlimit: a plain copy of the ids {:.3f} ms, {:.2f} GB/s",
                            json["limits"]["copy_ms"].get<double>(),
                            json["limits"]["copy_gb_s"].get<double>());
}

}  // namespace

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
  const double copy = Median(result.copy_seconds);
  const std::int64_t payload = result.ids * id_bytes;
  Json json = BenchFields(flags, data, pool.size());
  DropModelFields(json);
  json["measured"] =
      result.seconds.empty()
          ? "only a plain copy: the lookup reads the ids as they arrived, and that is in its time"
          : "the recat of one rank, which received the ids of all `world` ranks, on all threads";
  json["id_bytes"] = id_bytes;
  json["steps"] = flags.steps;
  json["warmup"] = flags.warmup;
  AddTimes(result, payload, json);
  json["payload_bytes"] = payload;
  json["bytes"] = {{"recat", result.bytes_moved}};
  json["limits"] = {{"copy_ms", 1e3 * copy}, {"copy_gb_s", GigabytesPerSecond(payload, copy)}};
  json["peak_rss_bytes"] = PeakResidentBytes();
  PrintResult(flags.common, RecatReport(flags, json));
  WriteJson(flags.common, json);
  return kDone;
}

}  // namespace hotrow::cli
