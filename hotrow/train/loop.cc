#include "hotrow/train/loop.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/tracer.h"
#include "hotrow/train/agreed_batches.h"

namespace hotrow {
namespace {

void Validate(const LoopConfig& config, bool evaluates) {
  if (config.epochs < 1) Fail("epochs: {} is not at least 1", config.epochs);
  if (config.batch_size < 1) Fail("batch size: {} is not at least 1", config.batch_size);
  if (!(config.eval_every >= 0) || std::isinf(config.eval_every))
    Fail("eval every: {} is not a number of epochs", config.eval_every);
  if (!(config.auc_target >= 0 && config.auc_target <= 1))
    Fail("AUC target: {} is not between 0 and 1", config.auc_target);
  if (config.max_steps < 0) Fail("max steps: {} is less than 0", config.max_steps);
  if (config.auc_target > 0 && !evaluates)
    Fail("AUC target: {} needs data to evaluate on", config.auc_target);
}

// `samples`: of an epoch, all ranks' together, so that all ranks find the same.
void RefuseTooLargeABatch(const LoopConfig& config, const DataDescription& data, std::int64_t samples) {
  if (config.batch_size <= samples) return;
  Fail("{}{}batch size: {} is more than the data's {} samples", data.name, data.name.empty() ? "" : ": ",
       config.batch_size, samples);
}

void ValidateData(const LoopConfig& config, const DataDescription& data,
                  std::optional<std::int64_t> samples) {
  if (!data.has_labels) Fail("training: the data has no labels");
  if (data.one_pass && config.epochs > 1) {
    Fail(
        "{}: comes through a pipe, which is read once: {} epochs need a file, or shuffling, which keeps the "
        "samples in memory",
        data.name, config.epochs);
  }
  if (samples) RefuseTooLargeABatch(config, data, *samples);
  if (!samples && config.eval_every > 0 && config.eval_every != std::floor(config.eval_every)) {
    Fail("eval every: {} of an epoch needs data whose number of samples is known", config.eval_every);
  }
}

// Fractions of epochs are sums that are rounded: times closer than this are one, and it is less than a sample
// of any epoch below 10^9 samples.
constexpr double kEpochTolerance = 1e-9;

// At a gradient of 0 that is the first of its weight.
bool DividesByZero(const OptimizerConfig& config) {
  return config.kind != OptimizerKind::kSgd && config.eps == 0.0F;
}

// When evaluations and progress reports are due. Time spent evaluating does not count as training.
class Monitor {
 public:
  Monitor(Trainer& trainer, BatchSource* eval_source, const LoopConfig& config, const LoopObserver& observer,
          std::optional<std::int64_t> epoch_samples)
      : trainer_(trainer),
        eval_source_(eval_source),
        config_(config),
        observer_(observer),
        epoch_samples_(epoch_samples),
        next_evaluation_(config.eval_every) {}

  void Step(LoopResult& result, std::int64_t epoch, std::int64_t samples_in_epoch, std::int64_t samples,
            float loss) {
    ++result.steps;
    result.samples += samples;
    result.losses.push_back(loss);
    loss_sum_ += static_cast<double>(loss);
    ++loss_count_;
    recent_samples_ += samples;
    result.seconds = Elapsed();
    if (result.seconds - last_report_ < config_.progress_seconds) return;
    if (observer_.on_progress) Report(result, epoch, samples_in_epoch);
    last_report_ = result.seconds;
    loss_sum_ = 0;
    loss_count_ = 0;
    recent_samples_ = 0;
  }

  bool EvaluationDue(double epochs_trained) const {
    return eval_source_ != nullptr && config_.eval_every > 0 &&
           epochs_trained + kEpochTolerance >= next_evaluation_;
  }

  // True when the target is reached.
  bool RunEvaluation(LoopResult& result, double epochs_trained) {
    const double begin = NowSeconds();
    const double every = std::max(config_.eval_every, kEpochTolerance);
    next_evaluation_ = (std::floor((epochs_trained + kEpochTolerance) / every) + 1) * every;
    result.evaluations.push_back(
        {epochs_trained, result.steps, Evaluate(trainer_, *eval_source_, config_.batch_size)});
    paused_ += NowSeconds() - begin;
    if (observer_.on_evaluation) observer_.on_evaluation(result.evaluations.back());
    return config_.auc_target > 0 && result.evaluations.back().result.auc >= config_.auc_target;
  }

  double Elapsed() const { return NowSeconds() - begin_ - paused_; }

 private:
  void Report(const LoopResult& result, std::int64_t epoch, std::int64_t samples_in_epoch) {
    Progress progress;
    progress.step = result.steps;
    progress.epoch = epoch;
    progress.epoch_samples = samples_in_epoch;
    progress.total_samples = epoch_samples_;
    progress.loss = loss_sum_ / static_cast<double>(loss_count_);
    const double seconds = result.seconds - last_report_;
    if (seconds > 0) progress.samples_per_s = static_cast<double>(recent_samples_) / seconds;
    progress.seconds_left = SecondsLeft(result);
    observer_.on_progress(progress);
  }

  // To the end of the epochs or to max_steps, whichever comes first.
  std::optional<double> SecondsLeft(const LoopResult& result) const {
    std::optional<double> seconds;
    const auto consider = [&](double done, double total) {
      const double left = result.seconds * std::max(0.0, total / done - 1);
      seconds = std::min(left, seconds.value_or(left));
    };
    if (epoch_samples_) {
      consider(static_cast<double>(result.samples),
               static_cast<double>(*epoch_samples_) * static_cast<double>(config_.epochs));
    }
    if (config_.max_steps > 0) {
      consider(static_cast<double>(result.steps), static_cast<double>(config_.max_steps));
    }
    return seconds;
  }

  Trainer& trainer_;
  BatchSource* eval_source_;
  const LoopConfig& config_;
  const LoopObserver& observer_;
  std::optional<std::int64_t> epoch_samples_;
  double next_evaluation_;
  double begin_ = NowSeconds();
  double paused_ = 0;
  double last_report_ = 0;
  double loss_sum_ = 0;
  std::int64_t loss_count_ = 0;
  std::int64_t recent_samples_ = 0;
};

// One run of TrainLoop.
class Loop {
 public:
  Loop(Trainer& trainer, BatchSource& source, BatchSource* eval_source, const LoopConfig& config,
       const LoopObserver& observer)
      : trainer_(trainer),
        data_(source.description()),
        batches_(source, trainer.comm()),
        eval_source_(eval_source),
        config_(config),
        observer_(observer),
        epoch_samples_(batches_.EpochSamples()),
        pipelined_(config.pipeline && trainer.comm().size() > 1),
        monitor_(trainer, eval_source, config, observer, epoch_samples_) {
    ValidateData(config, data_, epoch_samples_);
  }

  LoopResult Run() {
    for (std::int64_t epoch = 0; epoch < config_.epochs && !stop_; ++epoch) RunEpoch(epoch);
    result_.seconds = monitor_.Elapsed();
    // The last word is on the weights as they are left, and changes nothing about why training ended.
    if (eval_source_ != nullptr && evaluated_step_ != result_.steps &&
        result_.reason != StopReason::kInterrupted) {
      monitor_.RunEvaluation(result_, epochs_trained_);
    }
    return std::move(result_);
  }

 private:
  void RunEpoch(std::int64_t epoch) {
    batches_.StartEpoch(epoch);
    in_epoch_ = 0;
    bool more = Read(batch_[0]);
    // A short batch is an epoch's last: a first one tells of data whose size nobody knew.
    if (more && epoch == 0) RefuseTooLargeABatch(config_, data_, Samples(batch_[0]));
    for (int i = 0; more; i = 1 - i) {
      const bool last = config_.max_steps > 0 && result_.steps + 1 >= config_.max_steps;
      const bool ahead = pipelined_ && !last && Read(batch_[1 - i]);
      Step(epoch, batch_[i], ahead ? &batch_[1 - i] : nullptr);
      if (stop_) {
        if (ahead) trainer_.DropNext();
        return;
      }
      more = pipelined_ ? ahead : Read(batch_[1 - i]);
    }
    batches_.Rethrow();
    if (in_epoch_ == 0 && epoch == 0) Fail("training: the data has no samples");
    epochs_trained_ = static_cast<double>(epoch + 1);
    if (monitor_.EvaluationDue(epochs_trained_)) Evaluate();
  }

  bool Read(Batch& batch) {
    const TraceSpan span(trainer_.tracer(), TraceName::kReadBatch);
    return batches_.Next(config_.batch_size, batch);
  }

  // Of all ranks.
  static std::int64_t Samples(const Batch& batch) {
    return std::accumulate(batch.rank_samples.begin(), batch.rank_samples.end(), std::int64_t{0});
  }

  void Step(std::int64_t epoch, Batch& batch, Batch* next) {
    const std::int64_t samples = Samples(batch);
    const float loss = trainer_.Step(batch, next);
    if (!std::isfinite(loss)) {
      const TrainerConfig& config = trainer_.config();
      const std::vector<EmbeddingTableConfig>& tables = config.model.tables;
      const bool may_divide_by_zero =
          DividesByZero(config.dense_optimizer) ||
          std::any_of(tables.begin(), tables.end(),
                      [](const EmbeddingTableConfig& table) { return DividesByZero(table.optimizer); });
      Fail("the loss is {} at step {}: try a lower learning rate{}", loss, result_.steps + 1,
           may_divide_by_zero ? ", or an eps above 0" : "");
    }
    in_epoch_ += samples;
    monitor_.Step(result_, epoch, in_epoch_, samples, loss);
    if (epoch_samples_) {
      epochs_trained_ =
          static_cast<double>(epoch) + static_cast<double>(in_epoch_) / static_cast<double>(*epoch_samples_);
    }
    if (Interrupted()) {
      Stop(StopReason::kInterrupted);
    } else if (config_.max_steps > 0 && result_.steps >= config_.max_steps) {
      Stop(StopReason::kMaxSteps);
    } else if (in_epoch_ < epoch_samples_.value_or(0) && monitor_.EvaluationDue(epochs_trained_)) {
      Evaluate();
    }
  }

  bool Interrupted() {
    const bool here = observer_.interrupted != nullptr && observer_.interrupted->load();
    return AllReduceMax(trainer_.comm(), here ? 1 : 0) > 0;
  }

  void Evaluate() {
    evaluated_step_ = result_.steps;
    if (monitor_.RunEvaluation(result_, epochs_trained_)) Stop(StopReason::kAucTarget);
  }

  void Stop(StopReason reason) {
    result_.reason = reason;
    stop_ = true;
  }

  Trainer& trainer_;
  const DataDescription& data_;
  AgreedBatches batches_;
  BatchSource* eval_source_;
  const LoopConfig& config_;
  const LoopObserver& observer_;
  std::optional<std::int64_t> epoch_samples_;
  bool pipelined_;
  Monitor monitor_;
  LoopResult result_;
  Batch batch_[2];  // the one being trained on, and the next
  bool stop_ = false;
  std::int64_t in_epoch_ = 0;
  double epochs_trained_ = 0;
  std::int64_t evaluated_step_ = -1;
};

}  // namespace

void CheckLoop(const LoopConfig& config, const DataDescription& data, bool evaluates) {
  Validate(config, evaluates);
  ValidateData(config, data, data.samples);
}

LoopResult TrainLoop(Trainer& trainer, BatchSource& source, BatchSource* eval_source,
                     const LoopConfig& config, const LoopObserver& observer) {
  Validate(config, eval_source != nullptr);
  return Loop(trainer, source, eval_source, config, observer).Run();
}

}  // namespace hotrow
