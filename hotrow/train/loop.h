#pragma once
// Training over epochs of a data set, with evaluation in between.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/train/evaluate.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

struct LoopConfig {
  std::int64_t epochs = 1;
  std::int64_t batch_size = 0;    ///< what each step asks the source for
  double eval_every = 1.0;        ///< epochs between evaluations, at most one a step; 0: only at the end
  double auc_target = 0;          ///< stop when an evaluation reaches it; 0: never
  std::int64_t max_steps = 0;     ///< stop after so many steps; 0: no bound
  double progress_seconds = 1.0;  ///< least time between two progress reports
  bool pipeline = true;           ///< exchange the next batch's ids during a step; changes no bit
};

struct Progress {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t epoch_samples = 0;             ///< trained on in this epoch
  std::optional<std::int64_t> total_samples;  ///< of an epoch, where known
  double loss = 0;                            ///< mean over the steps since the last report
  std::optional<double> samples_per_s;        ///< since the last report; none: no time has passed
  std::optional<double> seconds_left;         ///< of the whole run at most, from the speed so far
};

struct EvaluationPoint {
  double epoch = 0;  ///< epochs trained, with fraction
  std::int64_t step = 0;
  Evaluation result;
};

enum class StopReason { kDone, kAucTarget, kMaxSteps, kInterrupted };

struct LoopResult {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double seconds = 0;  ///< training, evaluation not counted
  std::vector<float> losses;
  std::vector<EvaluationPoint> evaluations;
  StopReason reason = StopReason::kDone;
};

/// What the loop tells its caller, on each rank; any may be empty. `interrupted` is polled after every step:
/// when it is set on one rank, all stop after the same step.
struct LoopObserver {
  std::function<void(const Progress&)> on_progress = {};
  std::function<void(const EvaluationPoint&)> on_evaluation = {};
  const std::atomic<bool>* interrupted = nullptr;
};

/// Throws Error where TrainLoop would for what is known before a model is made: a configuration that is not
/// valid, data without labels or of fewer samples than a batch. `data`: of an epoch of all ranks. TrainLoop
/// looks again.
void CheckLoop(const LoopConfig& config, const DataDescription& data, bool evaluates);

/// Collective: trains. The source is a RankSource (train/rank_source.h), which cuts global batches of
/// batch_size samples and reads ahead, or data of each rank's own, which may differ in size and end at
/// different times: a rank without data takes part with empty batches until all have ended. `eval_source`,
/// likewise, may be null. Throws Error when the data is empty, has no labels, or holds fewer samples than one
/// batch, at the latest before the first step and on every rank; when the loss is no longer finite, naming
/// the step. The result is the same on every rank but for times.
LoopResult TrainLoop(Trainer& trainer, BatchSource& source, BatchSource* eval_source,
                     const LoopConfig& config, const LoopObserver& observer);

}  // namespace hotrow
