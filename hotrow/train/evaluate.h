#pragma once
// Evaluation over a whole data set: exact, in one pass.

#include <cstdint>

#include "hotrow/data/batch.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

struct Evaluation {
  std::int64_t samples = 0;
  double auc =
      0;  ///< exact ROC AUC over all samples, ties count one half; NaN when only one class is present
  double log_loss = 0;  ///< mean BCE, natural logarithm
  double normalized_entropy =
      0;  ///< log loss / entropy of the label rate; NaN when only one class is present
  double label_rate = 0;
  double prediction_rate = 0;  ///< mean predicted probability
};

/// Of weighted samples all but their number is weighted, as by scikit-learn's sample_weight.
///
/// Collective: runs the source's epoch 0 through the model, `batch_size` samples a call of Next, and returns
/// the same on every rank. With more ranks than one the source is this rank's slice (train/rank_source.h) or
/// data of its own. Memory: 8 bytes a sample, 12 of weighted ones, on rank 0. Throws Error when the source
/// has no labels, no samples, or only samples of weight 0.
Evaluation Evaluate(Trainer& trainer, BatchSource& source, std::int64_t batch_size);

}  // namespace hotrow
