#include "hotrow/measure/gemm_benchmark.h"

#include <algorithm>

#include "hotrow/machine/system.h"
#include "hotrow/measure/statistics.h"
#include "hotrow/model/dlrm.h"
#include "hotrow/plan/units_of_ranks.h"

namespace hotrow {

GemmResult RunGemm(const BenchConfig& config, ThreadPool& pool) {
  const std::int64_t units = config.trainer.reduction_units;
  ValidateReductionUnits(units);
  GemmResult result;
  result.run = BenchRun{"gemm", config, 1, pool.size(), "threads"};
  result.run.config.warmup = std::max<std::int64_t>(1, config.warmup / 5);
  result.run.config.steps = std::max<std::int64_t>(3, config.steps / 5);
  DlrmTower tower(config.trainer.model);
  tower.Initialize(config.trainer.seed, pool);
  UnitGradients gradients(tower.parameters().padded_size(), std::max<std::int64_t>(units, pool.size()));
  GemmLimit limit(tower, GemmLimit::MakeLayers(tower), config.per_chip_batch, units, gradients, pool);
  for (std::int64_t pass = 0; pass < result.run.config.warmup; ++pass) limit.RunOnce();
  std::vector<double> seconds;
  for (std::int64_t pass = 0; pass < result.run.config.steps; ++pass) {
    seconds.push_back(limit.RunOnce());
    if (config.on_step) config.on_step({false, pass + 1, result.run.config.steps});
  }
  const double median = Median(seconds);
  result.ms = 1e3 * median;
  result.gflops = limit.flop() / median / 1e9;
  result.samples_per_s = static_cast<double>(config.per_chip_batch) / median;
  result.products = limit.Report(0.1);
  result.peak_rss_bytes = PeakResidentBytes();
  return result;
}

}  // namespace hotrow
