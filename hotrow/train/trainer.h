#pragma once
// The training step: a batch in, one optimizer update of every touched embedding row and every dense
// parameter out.
//
// lookup (pooled straight into the tower's input) -> tower forward and backward, unit by unit -> fused sparse
// backward -> dense optimizer, which sums the units' gradients as it goes.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hotrow/base/buffer.h"
#include "hotrow/base/thread_pool.h"
#include "hotrow/data/batch.h"
#include "hotrow/dense/dense_optimizer.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/model/config.h"
#include "hotrow/model/tower.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/trace/phase.h"

namespace hotrow {

struct TrainerConfig {
  ModelConfig model;
  OptimizerConfig optimizer;        ///< of the embedding tables
  OptimizerConfig dense_optimizer;  ///< row-wise Adagrad here means Adagrad
  BackwardKernel kernel = BackwardKernel::kFused;
  StorageKind storage = StorageKind::kEager;
  BadIds bad_ids = BadIds::kError;
  std::int64_t reduction_units = 8;  ///< a power of two; equal bits need equal units
  std::uint64_t seed = 0;
};

class Trainer {
 public:
  /// Makes and initialises the model. `pool` must outlive the trainer. Throws Error when the configuration is
  /// not valid or the tables do not fit in memory.
  Trainer(const TrainerConfig& config, ThreadPool& pool);

  const TrainerConfig& config() const { return config_; }
  Tower& tower() { return *tower_; }
  EmbeddingBagCollection& embeddings() { return embeddings_; }
  DenseOptimizer& dense_optimizer() { return dense_optimizer_; }
  ThreadPool& pool() { return pool_; }

  /// Trains on the batch (at least one sample) and returns its mean loss, before the update. Checks ids
  /// first: a bad id with BadIds::kError throws before anything has changed. Allocates nothing once it has
  /// seen the largest batch, but for lists of a few
  /// hundred bytes. An Error thrown later, when a lazy table runs out of memory, leaves the model partly
  /// updated: of no use.
  float Step(Batch& batch);

  /// Logits of the batch's samples into `logits` [batch.size]. Changes nothing, grows no table.
  void Predict(Batch& batch, std::span<float> logits);

  /// Logits of the last Step's samples, until Predict is called.
  std::span<const float> last_logits() const { return logits_.span(); }
  std::int64_t steps() const { return step_; }
  /// Ids outside their tables that were skipped or wrapped so far.
  std::int64_t bad_ids() const { return bad_id_count_; }

  /// One word for all weights, and one for all optimizer state (docs/ARCHITECTURE.md, "Determinism").
  std::uint64_t WeightsHash() const;
  std::uint64_t StateHash() const;
  /// Bytes of weights and optimizer state, dense and sparse, every row counted.
  std::int64_t ModelBytes() const;

  /// The units' gradient buffers: between steps their contents are of no use to the trainer, and a benchmark
  /// may borrow them.
  UnitGradients& unit_gradients();

  PhaseTimes& phases() { return phases_; }

 private:
  void CheckBatch(const Batch& batch, bool labels) const;
  void EnsureCapacity(std::int64_t samples, bool training);
  TowerBatch UnitRows(const Batch& batch, std::int64_t first, std::int64_t rows);
  double RunTower(const Batch& batch);
  void EnsureWorkspaces(std::int64_t rows);
  TowerWorkspace& Workspace(int thread);

  TrainerConfig config_;
  ThreadPool& pool_;
  std::unique_ptr<Tower> tower_;
  DenseOptimizer dense_optimizer_;
  EmbeddingBagCollection embeddings_;

  std::vector<std::int64_t> columns_;     // of each feature in the tower's input
  std::vector<std::int64_t> table_rows_;  // of each feature's table
  Buffer<float> x_;                       // [batch, (F + 1) * D]
  Buffer<float> dx_;                      // the same, training only
  Buffer<float> logits_;
  std::optional<UnitGradients> unit_gradients_;
  std::vector<const float*> present_gradients_;  // null for an empty unit
  std::vector<double> unit_losses_;
  std::vector<std::unique_ptr<TowerWorkspace>> workspaces_;  // a thread
  std::int64_t workspace_rows_ = 0;

  std::int64_t step_ = 0;
  std::int64_t bad_id_count_ = 0;
  PhaseTimes phases_;
};

}  // namespace hotrow
