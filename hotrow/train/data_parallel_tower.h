#pragma once
// The dense half of the model over ranks: every rank runs the tower on its own samples, and all apply one
// optimizer step to the sum of their gradients.
//
// Thread ranks share one copy of the weights, their packed form and the optimizer's state. Each takes parts
// of the update as it gets to them, and reads the other ranks' gradients where they lie: what moves is read
// once. MPI ranks have a copy each: their gradients are reduce-scattered while the embeddings' backward runs,
// each rank updates its slice of the parameters, and the slices are gathered. Either way the sums are those
// of one rank, to the bit.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/comm/share.h"
#include "hotrow/dense/dense_optimizer.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/model/tower.h"
#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

class DataParallelTower {
 public:
  /// Collective: makes and initialises the tower. `units`: of the global batch, as ValidateReductionUnits
  /// (plan/units_of_ranks.h) wants them for the world. `clip_norm`: a gradient whose norm over all dense
  /// parameters is larger is scaled down to that norm; 0: none is. `comm` and `pool` must outlive it.
  DataParallelTower(const ModelConfig& model, const OptimizerConfig& optimizer, double clip_norm,
                    std::int64_t units, std::uint64_t seed, Communicator& comm, ThreadPool& pool);

  /// Thread ranks: one object for all. Whoever changes weights does so on the ranks where owns_weights(),
  /// when no rank reads them any more, and all call Repack.
  Tower& tower() { return shared_->tower(); }
  const Tower& tower() const { return shared_->tower(); }
  DenseOptimizer& optimizer() { return shared_->optimizer; }
  bool owns_weights() const { return comm_.leads_memory(); }
  /// Collective: packs changed weights.
  void Repack();

  /// Units of the global batch that are this rank's.
  std::int64_t num_units() const { return num_units_; }
  /// Their gradient buffers, made at the first call. Between Update and the tower's next backward their
  /// contents are nobody's, and a benchmark may borrow them.
  UnitGradients& gradients();

  /// own[u]: the gradient of this rank's unit u, in gradients(); null: the unit has no samples. Collective:
  /// where gradients travel, they leave now.
  void StartReduce(std::span<const float* const> own);
  /// Collective: every rank's gradients can be read here, or their sum has arrived.
  void FinishReduce();
  /// Collective, after FinishReduce: one optimizer step on all parameters, and packs them.
  void Update(OptimizerStep step);

  /// Of all dense parameters. Not collective: equal on every rank, and Verify is what checks that.
  std::uint64_t WeightsHash() const;
  /// The same of a copy that is this rank's alone; 0 where ranks have one copy.
  std::uint64_t ReplicaHash() const;
  /// Collective: of the optimizer's state, on rank 0; 0 elsewhere.
  std::uint64_t StateHash();
  /// Bytes of weights and optimizer state, of one copy.
  std::int64_t Bytes() const;
  /// Bytes sent to other ranks, or read from their memory, so far.
  std::int64_t moved_bytes() const { return moved_bytes_; }

 private:
  struct Shared {
    Shared(const ModelConfig& model, const OptimizerConfig& optimizer, std::uint64_t seed, ThreadPool& pool);
    Tower& tower() { return *made; }

    std::unique_ptr<Tower> made;
    DenseOptimizer optimizer;
    std::atomic<std::int64_t> next_part{0};  // of the update
    std::atomic<std::int64_t> next_sum{0};   // of the sum that clipping needs before it
    Buffer<float> sum;                       // of all units' gradients, where they are clipped
    std::vector<double> squares;             // of each part of it, summed
    std::atomic<std::int64_t> next_pack{0};
  };
  // Between ranks whose memory is their own; ranks of one memory read one another's gradients in place.
  bool gradients_travel() const { return comm_.size() > 1 && !comm_.shares_memory(); }
  void SumOwnUnits();
  void UpdateShared(OptimizerStep step);
  void UpdateSlice(OptimizerStep step);
  void SumParts();
  float ClipFactor(std::span<const double> squares) const;
  void PackShared();

  Communicator& comm_;
  ThreadPool& pool_;
  double clip_norm_;
  std::int64_t num_units_;
  std::shared_ptr<Shared> shared_;
  std::optional<UnitGradients> gradients_;
  std::vector<const float*> own_;                   // this rank's units; null where absent
  std::vector<const float*> all_;                   // every rank's
  std::vector<std::vector<const float*>> sources_;  // of a thread's part of the sum of this rank's units
  std::int64_t peer_units_ = 0;                     // of those present, other ranks'
  std::optional<Share<const float* const>> peers_;  // while other ranks' gradients may be read
  PendingSum<float> sum_;
  DenseUpdate update_;
  std::int64_t moved_bytes_ = 0;
};

}  // namespace hotrow
