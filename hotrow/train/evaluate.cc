#include "hotrow/train/evaluate.h"

#include <cmath>
#include <span>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/data/metrics.h"
#include "hotrow/trace/tracer.h"
#include "hotrow/train/agreed_batches.h"

namespace hotrow {
namespace {

double Probability(float logit) { return 1.0 / (1.0 + std::exp(-static_cast<double>(logit))); }

// Appends every rank's part to `all` on rank 0, in rank order.
void Gather(Communicator& comm, std::span<const float> mine, std::span<const std::int64_t> counts,
            std::vector<float>& all) {
  const std::size_t first = all.size();
  Parts<float> parts(comm);
  parts.Send(0, mine);
  if (comm.rank() == 0) {
    std::int64_t total = 0;
    for (const std::int64_t count : counts) total += count;
    all.resize(first + static_cast<std::size_t>(total));
    const auto places = Cut(std::span(all).subspan(first), counts);
    for (int r = 0; r < comm.size(); ++r) parts.Receive(r, places[static_cast<std::size_t>(r)]);
  }
  parts.Start(comm).Wait();
}

// `weights`: one a sample, or none.
Evaluation Measure(std::span<const float> logits, std::span<const float> labels,
                   std::span<const float> weights) {
  if (logits.empty()) Fail("evaluation: the data has no samples");
  Evaluation result;
  result.samples = std::ssize(logits);
  double predicted = 0;
  double weight = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double of_sample = weights.empty() ? 1.0 : static_cast<double>(weights[i]);
    predicted += of_sample * Probability(logits[i]);
    weight += of_sample;
  }
  if (!(weight > 0)) Fail("evaluation: the samples' weights are all 0");
  result.prediction_rate = predicted / weight;
  result.label_rate = LabelRate(labels, weights);
  result.log_loss = LogLoss(logits, labels, weights);
  result.auc = RocAuc(logits, labels, weights);
  result.normalized_entropy = NormalizedEntropy(result.log_loss, result.label_rate);
  return result;
}

}  // namespace

Evaluation Evaluate(Trainer& trainer, BatchSource& source, std::int64_t batch_size) {
  if (!source.description().has_labels) Fail("evaluation: the data has no labels");
  const TraceSpan span(trainer.tracer(), TraceName::kEvaluate);
  Communicator& comm = trainer.comm();
  AgreedBatches batches(source, comm);
  std::vector<float> own;
  std::vector<float> logits;
  std::vector<float> labels;
  std::vector<float> weights;
  // Data of the ranks' own may differ in it.
  const bool weighted = AllReduceMax(comm, source.description().weighted_samples ? 1 : 0) > 0;
  Batch batch;
  batches.StartEpoch(0);
  while (batches.Next(batch_size, batch)) {
    own.resize(static_cast<std::size_t>(batch.size));
    trainer.Predict(batch, own);
    Gather(comm, own, batch.rank_samples, logits);
    Gather(comm, batch.labels, batch.rank_samples, labels);
    if (!weighted) continue;
    if (batch.sample_weights.empty()) batch.sample_weights.assign(own.size(), 1.0F);
    Gather(comm, batch.sample_weights, batch.rank_samples, weights);
  }
  batches.Rethrow();
  Evaluation result;
  if (comm.rank() == 0) result = Measure(logits, labels, weights);
  Broadcast<Evaluation>(comm, std::span(&result, 1));
  return result;
}

}  // namespace hotrow
