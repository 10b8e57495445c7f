#include "hotrow/train/evaluate.h"

#include <cmath>
#include <span>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/data/metrics.h"

namespace hotrow {
namespace {
double Probability(float logit) { return 1.0 / (1.0 + std::exp(-static_cast<double>(logit))); }
}  // namespace

Evaluation Evaluate(Trainer& trainer, BatchSource& source, std::int64_t batch_size) {
  if (!source.description().has_labels) Fail("evaluation: the data has no labels");
  std::vector<float> logits;
  std::vector<float> labels;
  Batch batch;
  source.StartEpoch(0);
  while (source.Next(batch_size, batch)) {
    const std::size_t first = logits.size();
    logits.resize(first + static_cast<std::size_t>(batch.size));
    trainer.Predict(batch, std::span(logits).subspan(first));
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  if (logits.empty()) Fail("evaluation: the data has no samples");

  Evaluation result;
  result.samples = static_cast<std::int64_t>(logits.size());
  double predicted = 0;
  for (const float logit : logits) predicted += Probability(logit);
  result.prediction_rate = predicted / static_cast<double>(result.samples);
  result.label_rate = LabelRate(labels);
  result.log_loss = LogLoss(std::span<const float>(logits), labels);
  result.auc = RocAuc(std::span<const float>(logits), labels);
  result.normalized_entropy = NormalizedEntropy(result.log_loss, result.label_rate);
  return result;
}

}  // namespace hotrow
