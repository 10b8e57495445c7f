#pragma once
// The engine behind the reference's interface: parameters by TorchRec's names, gradients in TorchRec's
// shapes.

#include <cstdint>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/reference/reference_trainer.h"
#include "hotrow/train/trainer.h"

namespace hotrow::reference {

class EngineModel {
 public:
  EngineModel(const TrainerConfig& config, int threads);

  struct StepResult {
    std::vector<float> logits;
    float loss = 0;
  };
  /// One training step, by hotrow::Trainer.
  StepResult Step(hotrow::Batch batch);

  struct Gradients {
    std::vector<float> dpooled;  ///< [F, samples, D]
    Tensors dense;               ///< of every dense parameter
  };
  /// Gradients at the current parameters, the batch cut into `units`, whose gradients are summed here in
  /// double. Changes nothing.
  Gradients Differentiate(const hotrow::Batch& batch, std::int64_t units);

  /// Sets every parameter; values must be exact in fp32.
  void SetParameters(const Tensors& parameters);
  Tensors GetParameters();

  hotrow::Trainer& trainer() { return trainer_; }

 private:
  ThreadPool pool_;
  hotrow::Trainer trainer_;
};

/// A table's rows in the reference's form, and back.
Tensor ReadTable(const EmbeddingTable& table);
void WriteTable(EmbeddingTable& table, const Tensor& tensor);

/// "fused lazy 3 threads 8 units": a run's way of running, for a test's message.
std::string Describe(const TrainerConfig& config, int threads);

}  // namespace hotrow::reference
