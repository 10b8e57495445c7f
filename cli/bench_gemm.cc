// hotrow bench --part gemm: the tower's matrix products alone, together and one by one.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/bench_parts.h"
#include "cli/bench_progress.h"
#include "cli/bench_report.h"
#include "hotrow/base/error.h"
#include "hotrow/machine/system.h"
#include "hotrow/measure/gemm_limit.h"
#include "hotrow/measure/statistics.h"
#include "hotrow/model/dlrm.h"
#include "hotrow/plan/units_of_ranks.h"

namespace hotrow::cli {

using Json = nlohmann::ordered_json;

int BenchGemm(const BenchFlags& flags, ThreadPool& pool) {
  if (flags.check) Fail("--check: --part gemm has nothing to check; valid with step and sparse");
  const SyntheticConfig data = MakeBenchData(flags);
  const TrainerConfig config = MakeTrainerConfig(
      flags.model, MakeModelConfig(flags.model, SyntheticSource(data).description()), flags.common.seed);
  const std::int64_t units = config.reduction_units;
  ValidateReductionUnits(units);
  DlrmTower tower(config.model);
  tower.Initialize(flags.common.seed, pool);
  UnitGradients gradients(tower.parameters().padded_size(), std::max<std::int64_t>(units, pool.size()));
  GemmLimit limit(tower, GemmLimit::MakeLayers(tower), flags.per_chip_batch, units, gradients, pool);
  // A pass is what a step takes, and varies less.
  const std::int64_t warmup = std::max<std::int64_t>(1, flags.warmup / 5);
  const std::int64_t passes = std::max<std::int64_t>(3, flags.steps / 5);
  for (std::int64_t pass = 0; pass < warmup; ++pass) limit.RunOnce();
  std::vector<double> seconds;
  BenchProgress progress(flags.common, 0, passes);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    seconds.push_back(limit.RunOnce());
    progress(pass + 1);
  }
  Json json = BenchFields(flags, data, pool.size());
  json["reduction_units"] = units;
  json["steps"] = passes;
  json["warmup"] = warmup;
  for (const char* of_tables : {"kernel", "optimizer", "sharding", "recat_mode"}) json.erase(of_tables);
  const double median = Median(seconds);
  json["ms"] = 1e3 * median;
  json["gflops"] = limit.flop() / median / 1e9;
  json["samples_per_s"] = static_cast<double>(flags.per_chip_batch) / median;
  std::string text =
      fmt::format("{}\nforward, dX and dW of a batch: {:.1f} ms (median), {:.1f} GFLOP/s, {:.0f} samples/s",
                  BenchHeadline(flags, json), 1e3 * median, json["gflops"].get<double>(),
                  json["samples_per_s"].get<double>());
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

}  // namespace hotrow::cli
