#include "hotrow/benchmark/step_benchmark.h"

#include <algorithm>

#include "hotrow/model/gemm_limit.h"

namespace hotrow {
namespace {

constexpr std::int64_t kMaxLimitPasses = 20;

// Whether pass number floor(step * passes / steps) starts at this step: `passes` of `steps` steps, evenly
// spread.
bool LimitDue(std::int64_t step, std::int64_t steps, std::int64_t passes) {
  return step == 0 || step * passes / steps != (step - 1) * passes / steps;
}

}  // namespace

StepBenchmarkResult RunStepBenchmark(const StepBenchmarkConfig& config, Trainer& trainer) {
  SyntheticSource source(config.data, &trainer.pool());
  source.StartEpoch(0);
  Batch batch;
  StepBenchmarkResult result;
  for (std::int64_t step = 0; step < config.warmup; ++step) {
    source.Next(config.batch_size, batch);
    result.losses.push_back(trainer.Step(batch));
  }
  // Between steps the units' gradients are nobody's: the limit borrows their memory.
  GemmLimit limit(trainer.tower(), config.batch_size, trainer.config().reduction_units,
                  trainer.unit_gradients(), trainer.pool());
  limit.RunOnce();
  trainer.phases().Reset();
  const std::int64_t passes = std::min(config.steps, kMaxLimitPasses);
  for (std::int64_t step = 0; step < config.steps; ++step) {
    source.Next(config.batch_size, batch);
    const double begin = NowSeconds();
    const float loss = trainer.Step(batch);
    result.step_seconds.push_back(NowSeconds() - begin);
    result.losses.push_back(loss);
    if (LimitDue(step, config.steps, passes)) result.limit_seconds.push_back(limit.RunOnce());
  }
  result.phases = trainer.phases();
  result.ids_per_step = static_cast<std::int64_t>(batch.sparse.values().size());
  return result;
}

}  // namespace hotrow
