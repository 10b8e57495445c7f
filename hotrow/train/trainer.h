#pragma once
// The training step over ranks: a batch in, one optimizer update of every touched embedding row and every
// dense parameter out.
//
// input dist and recat -> lookup and output dist, into the tower's input -> the next batch's ids leave ->
// tower forward and backward, unit by unit -> the dense gradients leave -> gradient dist and the embeddings'
// backward -> dense optimizer, which sums the units' gradients as it goes.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/data/batch.h"
#include "hotrow/dist/options.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/model/config.h"
#include "hotrow/model/tower.h"
#include "hotrow/optim/learning_rate_schedule.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/optim/optimizer_factors.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/sharded/sharded_embedding_bag_collection.h"
#include "hotrow/trace/overlap.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/tracer.h"
#include "hotrow/train/data_parallel_tower.h"

namespace hotrow {

struct TrainerConfig {
  ModelConfig model;                   ///< its tables have optimizers of their own
  OptimizerConfig dense_optimizer;     ///< row-wise Adagrad here means Adagrad
  LearningRateSchedule schedule = {};  ///< of all optimizers alike
  /// A dense gradient whose norm over all dense parameters is larger is scaled down to that norm; 0: none is.
  double clip_norm = 0;
  bool sample_weights = false;  ///< every batch has them (Batch::sample_weights)
  BackwardKernel kernel = BackwardKernel::kFused;
  StorageKind storage = StorageKind::kEager;
  BadIds bad_ids = BadIds::kError;
  /// Of the global batch; as ValidateReductionUnits (plan/units_of_ranks.h) wants them. Equal bits need equal
  /// units.
  std::int64_t reduction_units = 8;
  std::uint64_t seed = 0;
  std::optional<ShardingPlan> plan = {};  ///< none: every table whole on a rank, table_wise
  DistOptions dist = {};
  std::int64_t verify_every = 0;  ///< steps between checks that ranks agree; 0: at the start only
};

class Trainer {
 public:
  /// Collective: makes and initialises the model. `comm` and `pool` must outlive the trainer. Throws Error
  /// when the configuration is not valid, differs between ranks, or the tables do not fit in memory.
  Trainer(const TrainerConfig& config, Communicator& comm, ThreadPool& pool);
  /// The same for a world of this one rank.
  Trainer(const TrainerConfig& config, ThreadPool& pool);

  // Members are collectives unless they say otherwise: all ranks call them, in one order.

  /// Trains on the batch and returns the mean loss of all ranks' samples, at least one, before the update:
  /// weighted, sum(w loss) / sum(w), where samples have weights; 0, and nothing moves but by decay, where
  /// all weights are 0. This rank's samples may be none. Batches whose rank_samples are empty are whole ones
  /// in a world of one rank, and else ranks ask one another. A bad id with BadIds::kError throws before this
  /// step has changed anything. Allocates nothing once it has seen the largest batch of any rank and the
  /// sizes of this rank's units, but for lists of a few hundred bytes. An Error thrown later, when a lazy
  /// table runs out of memory, leaves the model partly updated: of no use.
  ///
  /// With `next`, the batch of the next Step, its ids are exchanged while this one computes: neither may
  /// change until it has been trained on. All ranks give one or none. Bits do not depend on it.
  float Step(Batch& batch, Batch* next = nullptr);

  /// Forgets the `next` that the last Step was given, whose ids are on their way.
  void DropNext();

  /// Logits of this rank's samples into `logits` [batch.size], in micro-batches as Step has them and so with
  /// its bits. May stand between a Step with `next` and the next Step. Changes nothing, grows no table.
  void Predict(Batch& batch, std::span<float> logits);

  /// Throws Error unless every rank has the same dense weights and replicas. Step calls it, every
  /// config().verify_every steps.
  void Verify();

  /// One word for all weights, and one for all optimizer state (docs/ARCHITECTURE.md, "Determinism").
  std::uint64_t WeightsHash();
  std::uint64_t StateHash();
  /// Bytes of weights and optimizer state, dense and sparse, of all ranks, every row counted. Not collective.
  std::int64_t ModelBytes() const { return table_bytes_ + dense_.Bytes(); }
  std::int64_t TableBytes() const { return table_bytes_; }
  /// Hashing reads every row: above this many TableBytes it is done only where it was asked for.
  static constexpr std::int64_t kHashedBytes = std::int64_t{8} << 30;

  // Not collective, all of these.

  const TrainerConfig& config() const { return config_; }
  Tower& tower() { return dense_.tower(); }
  DataParallelTower& dense() { return dense_; }
  ShardedEmbeddingBagCollection& embeddings() { return embeddings_; }
  Communicator& comm() { return comm_; }
  ThreadPool& pool() { return pool_; }

  /// Logits of the last Step's samples of this rank, until Predict is called.
  std::span<const float> last_logits() const { return logits_.span(); }
  std::int64_t steps() const { return step_; }
  /// Matrix products made so far for the present workspaces, of all threads. A step makes them before its
  /// tower runs, and only for sizes of units that it has not seen.
  std::int64_t products_made() const;
  /// This rank's ids outside their tables that were skipped or wrapped so far.
  std::int64_t bad_ids() const { return bad_id_count_; }

  /// This rank's time in each phase of the steps since the last reset, and what the phases moved. What is
  /// received of the next batch's ids between units of the tower counts as input dist, not as dense.
  PhaseTimes phases() const;
  PhaseBytes bytes() const;
  void ResetPhases();
  /// Where spans and bytes go as well; null, the default: nowhere.
  void set_tracer(Tracer* tracer);
  Tracer* tracer() const { return tracer_; }

 private:
  struct InFlight {
    ShardedEmbeddingBagCollection::Context context;
    Batch* batch = nullptr;
    std::exception_ptr bad_id = nullptr;  // thrown at the batch's own step
    std::int64_t bad_ids = 0;
    std::vector<std::int64_t> samples = {};  // of every rank
  };

  // What all workspaces' products were last made for.
  struct PreparedFor {
    std::int64_t largest_unit = 0;
    std::int64_t smallest_unit = 0;
    bool backward = false;
    bool operator==(const PreparedFor&) const = default;
  };

  Trainer(const TrainerConfig& config, std::unique_ptr<Communicator> own, Communicator* comm,
          ThreadPool& pool);
  void CheckBatch(const Batch& batch, bool labels) const;
  void StartBatch(Batch& batch, InFlight& flight);
  void StartAhead(Batch& next);
  void EnsureCapacity(std::int64_t samples);
  void EnsureGradients();
  void EnsureWorkspaces(std::int64_t max_rows, const Batch& batch, bool backward);
  Slice UnitSlice(std::int64_t samples, std::int64_t unit) const;
  TowerBatch UnitRows(const Batch& batch, Slice rows, double gradient_scale);
  void RunTower(const Batch& batch, double gradient_scale);
  void ProgressBesideTower(const TaskClock& units);
  double SumOverUnits(std::span<const double> values) const;
  double TotalWeight(const Batch& batch, std::int64_t samples);
  OptimizerStep StepOfOptimizers() const;
  double FinishDense(std::int64_t moved_before);
  TowerWorkspace& Workspace(int thread);

  std::unique_ptr<Communicator> own_comm_;
  Communicator& comm_;
  ThreadPool& pool_;
  TrainerConfig config_;
  DataParallelTower dense_;
  ShardedEmbeddingBagCollection embeddings_;
  std::int64_t table_bytes_ = 0;

  std::int64_t width_ = 0;                    // of the tower's input
  std::vector<std::int64_t> feature_dims_;    // of each feature's table
  std::vector<std::int64_t> table_rows_;      // of each feature's table
  std::vector<PooledPlace> places_;           // of each feature in the tower's input
  Buffer<float> x_;                           // [batch, width]
  std::vector<PooledPlace> gradient_places_;  // of each feature in dpooled_
  Buffer<float> dpooled_;  // feature after feature, [samples of the rank that has most, dim]; training only
  Buffer<float> logits_;
  std::vector<const float*> present_gradients_;  // of this rank's units; null for an empty one
  std::vector<double> unit_losses_;
  std::vector<double> unit_weights_;  // sums of the samples' weights
  std::int64_t samples_ = 0;          // of the step's batch, on this rank
  double loss_ = 0;  // what loss_sum_ sums: peers may read it until that has ended, whatever Step does
  PendingSum<double> loss_sum_;
  std::vector<std::unique_ptr<TowerWorkspace>> workspaces_;  // a thread
  std::int64_t workspace_rows_ = 0;
  PreparedFor prepared_;

  std::int64_t step_ = 0;
  InFlight next_;  // what the last Step was given as `next`
  InFlight now_;
  std::int64_t bad_id_count_ = 0;
  PhaseTimes phases_;
  PhaseBytes bytes_;
  Tracer* tracer_ = nullptr;
};

}  // namespace hotrow
