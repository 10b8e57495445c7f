#include "hotrow/measure/step_benchmark.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_phases.h"
#include "hotrow/comm/share.h"
#include "hotrow/measure/gemm_limit.h"
#include "hotrow/measure/rank_batches.h"

namespace hotrow {
namespace {

constexpr std::int64_t kMaxLimitPasses = 20;

// Whether pass number floor(step * passes / steps) starts at this step: `passes` of `steps` steps, evenly
// spread.
bool LimitDue(std::int64_t step, std::int64_t steps, std::int64_t passes) {
  return step == 0 || step * passes / steps != (step - 1) * passes / steps;
}

class Run {
 public:
  Run(const StepBenchmarkConfig& config, Trainer& trainer)
      : config_(config),
        trainer_(trainer),
        comm_(trainer.comm()),
        source_(config.data, config.global_batch, trainer.config().reduction_units, comm_, trainer.pool()),
        pipelined_(config.pipeline && comm_.size() > 1) {}

  StepBenchmarkResult All() {
    source_.Fill(0, batches_[0]);
    for (std::int64_t step = 0; step < config_.warmup; ++step) Step(step);
    MakeLimit();
    trainer_.ResetPhases();
    trainer_.set_tracer(config_.tracer);
    const std::int64_t passes = std::min(config_.steps, kMaxLimitPasses);
    for (std::int64_t step = 0; step < config_.steps; ++step) {
      result_.step_seconds.push_back(Step(config_.warmup + step));
      if (LimitDue(step, config_.steps, passes)) result_.limit_seconds.push_back(RunLimit());
    }
    trainer_.set_tracer(nullptr);
    Gather();
    trainer_.DropNext();
    return std::move(result_);
  }

 private:
  // Seconds of the step alone. Its batch is there already, and so is the next one, whose ids it may exchange:
  // the last step's too, or it would do less than the others.
  double Step(std::int64_t step) {
    Batch& batch = batches_[step % 2];
    Batch& next = batches_[(step + 1) % 2];
    source_.Fill(step + 1, next);
    comm_.Barrier();
    const double begin = NowSeconds();
    const float loss = trainer_.Step(batch, pipelined_ ? &next : nullptr);
    const double seconds = NowSeconds() - begin;
    result_.losses.push_back(loss);
    if (config_.on_step) config_.on_step(step + 1);
    return seconds;
  }

  void MakeLimit() {
    // Between steps the units' gradients are nobody's: the limit borrows their memory.
    const auto layers = MakeShared(comm_, [&] { return GemmLimit::MakeLayers(trainer_.tower()); });
    limit_.emplace(trainer_.tower(), layers, batches_[0].size, trainer_.dense().num_units(),
                   trainer_.dense().gradients(), trainer_.pool());
    limit_->RunOnce();
  }

  double RunLimit() {
    comm_.Barrier();
    return AllReduceMax(comm_, limit_->RunOnce());
  }

  void Gather() {
    const double mean = std::accumulate(result_.step_seconds.begin(), result_.step_seconds.end(), 0.0) /
                        static_cast<double>(result_.step_seconds.size());
    result_.rank_seconds = AllGather(comm_, mean);
    result_.phases = MeanOverRanks(comm_, trainer_.phases());
    result_.bytes = SumOverRanks(comm_, trainer_.bytes());
  }

  const StepBenchmarkConfig& config_;
  Trainer& trainer_;
  Communicator& comm_;
  RankBatches source_;
  const bool pipelined_;
  Batch batches_[2];
  std::optional<GemmLimit> limit_;
  StepBenchmarkResult result_;
};

}  // namespace

StepBenchmarkResult RunStepBenchmark(const StepBenchmarkConfig& config, Trainer& trainer) {
  return Run(config, trainer).All();
}

}  // namespace hotrow
