#include "hotrow/measure/step_benchmark.h"

#include <algorithm>

#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/comm/process.h"
#include "hotrow/comm/share.h"
#include "hotrow/measure/gemm_limit.h"
#include "hotrow/measure/rank_batches.h"
#include "hotrow/measure/statistics.h"

namespace hotrow {
namespace {

constexpr std::int64_t kMaxLimitPasses = 20;

// Whether pass number floor(step * passes / steps) starts at this step: `passes` of `steps` steps, evenly
// spread.
bool LimitDue(std::int64_t step, std::int64_t steps, std::int64_t passes) {
  return step == 0 || step * passes / steps != (step - 1) * passes / steps;
}

class StepRun {
 public:
  StepRun(const BenchConfig& config, Communicator& comm, ThreadPool& pool)
      : config_(config),
        comm_(comm),
        pool_(pool),
        trainer_(config.trainer, comm, pool),
        source_(config.data, CheckedMul(config.per_chip_batch, comm.size()), config.trainer.reduction_units,
                comm, pool),
        pipelined_(config.pipeline && comm.size() > 1) {
    result_.run = DescribeRun("step", config, comm, pool.size());
    result_.micro_batch = trainer_.tower().micro_batch();
    result_.model_bytes = trainer_.ModelBytes();
  }

  StepResult All(Tracer* tracer) {
    TimeSteps(tracer);
    AddTimes();
    if (config_.limits) AddLimits();
    AddHashes();
    result_.peak_rss_bytes = PeakRss(comm_);
    return std::move(result_);
  }

 private:
  void TimeSteps(Tracer* tracer) {
    source_.Fill(0, batches_[0]);
    for (std::int64_t step = 0; step < config_.warmup; ++step) Step(step);
    if (config_.limits) MakeLimit();
    trainer_.ResetPhases();
    trainer_.set_tracer(tracer);
    const std::int64_t passes = std::min(config_.steps, kMaxLimitPasses);
    for (std::int64_t step = 0; step < config_.steps; ++step) {
      result_.step_seconds.push_back(Step(config_.warmup + step));
      if (limit_ && LimitDue(step, config_.steps, passes)) limit_seconds_.push_back(RunLimit());
    }
    trainer_.set_tracer(nullptr);
    result_.phases = MeanOverRanks(comm_, trainer_.phases());
    result_.bytes = SumOverRanks(comm_, trainer_.bytes());
    trainer_.DropNext();
  }

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
    config_.TellStep(step + 1);
    return seconds;
  }

  void MakeLimit() {
    // Between steps the units' gradients are nobody's: the limit borrows their memory.
    const auto layers = MakeShared(comm_, [&] { return GemmLimit::MakeLayers(trainer_.tower()); });
    limit_.emplace(trainer_.tower(), layers, batches_[0].size, trainer_.dense().num_units(),
                   trainer_.dense().gradients(), pool_);
    limit_->RunOnce();
  }

  double RunLimit() {
    comm_.Barrier();
    return AllReduceMax(comm_, limit_->RunOnce());
  }

  void AddTimes() {
    const std::vector<double> ranks = AllGather(comm_, Mean(result_.step_seconds));
    const double slowest = *std::max_element(ranks.begin(), ranks.end());
    result_.mean_over_ranks_ms = 1e3 * Mean(ranks);
    result_.max_over_ranks_ms = 1e3 * slowest;
    result_.rank0_median_ms = 1e3 * Median(result_.step_seconds);
    result_.samples_per_s = GlobalBatch() / slowest;
    result_.k_samples_per_s_per_rank = static_cast<double>(config_.per_chip_batch) / slowest / 1e3;
    result_.k_samples_per_s_per_chip =
        result_.k_samples_per_s_per_rank * static_cast<double>(config_.ranks_per_chip);
  }

  void AddLimits() {
    const double gemm = Mean(limit_seconds_);
    result_.gemm_samples_per_s = GlobalBatch() / gemm;
    result_.rows = MeasureRowLimits(trainer_.embeddings(), comm_, pool_);
    if (!comm_.shares_memory()) return;
    result_.ratios.tower_to_gemm = gemm / PhaseSeconds(Phase::kDense);
    if (comm_.size() > 1) return;
    const double rows = result_.rows->SecondsOf(
        CountRowWork(config_.trainer.model, config_.data, config_.per_chip_batch, pool_));
    result_.ratios.rows_to_memory =
        rows / (PhaseSeconds(Phase::kLookup) + PhaseSeconds(Phase::kSparseBackward));
    result_.ratios.step_to_floor = (gemm + rows) / Mean(result_.step_seconds);
  }

  void AddHashes() {
    if (trainer_.TableBytes() > Trainer::kHashedBytes && !config_.hash) return;
    result_.weights_hash = trainer_.WeightsHash();
    result_.state_hash = trainer_.StateHash();
  }

  // Of one step.
  double PhaseSeconds(Phase phase) const {
    return result_.phases.seconds(phase) / static_cast<double>(config_.steps);
  }
  double GlobalBatch() const { return static_cast<double>(result_.run.global_batch()); }

  const BenchConfig& config_;
  Communicator& comm_;
  ThreadPool& pool_;
  Trainer trainer_;
  RankBatches source_;
  const bool pipelined_;
  Batch batches_[2];
  std::optional<GemmLimit> limit_;
  std::vector<double> limit_seconds_;
  StepResult result_;
};

}  // namespace

StepResult RunStep(const BenchConfig& config, Communicator& comm, ThreadPool& pool, Tracer* tracer) {
  return StepRun(config, comm, pool).All(tracer);
}

}  // namespace hotrow
