#pragma once
// The dense half of the model: everything but the embedding tables. DLRM-DCN and DLRM are both DlrmTower
// (dlrm.h).
//
// A tower works on reduction units: contiguous samples of the batch that one thread takes from end to end,
// cut into micro-batches of a fixed size so that activations stay in cache. Its input X [rows,
// width] already holds the pooled embeddings; the tower writes the dense arch's output into the first columns
// of each row. Width is ModelConfig::InteractionWidth().

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hotrow/dense/parameters.h"
#include "hotrow/embed/pooled_view.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/model/config.h"
#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

class Linear;

/// One unit's rows of the batch's arrays. All pointers are to the unit's first row.
struct TowerBatch {
  std::int64_t rows = 0;
  const float* dense = nullptr;   ///< [rows, num_dense]
  float* x = nullptr;             ///< [rows, width]; the dense arch's columns are written
  const float* labels = nullptr;  ///< [rows]; only training reads them
  /// Out: d loss / d pooled embedding of feature f, row r at dpooled.Row(f, first_pooled + r). Training alone
  /// writes it, and needs it. Best feature after feature (FeatureMajorPlaces): the embeddings' backward reads
  /// it so, and often.
  PooledView<float> dpooled;
  std::int64_t first_pooled = 0;
  float* logits = nullptr;      ///< [rows], out
  double gradient_scale = 1.0;  ///< 1 / global batch: every gradient carries it
  /// [rows] each sample's share in the loss and its gradient; null: 1 each. Only training reads them.
  const float* sample_weights = nullptr;
};

/// Scratch of one thread. Made by Tower::MakeWorkspace, used by one thread at a time.
class TowerWorkspace {
 public:
  virtual ~TowerWorkspace() = default;

  /// Makes the matrix products of a unit of `rows` rows: of Forward, and of ForwardBackward when
  /// `backward`. A unit makes what it lacks, at the cost of milliseconds and memory in the middle of a step.
  virtual void Prepare(std::int64_t rows, bool backward) = 0;
  /// Products made so far, by Prepare and by units.
  virtual std::int64_t products_made() const = 0;
};

class Tower {
 public:
  virtual ~Tower() = default;

  const ModelConfig& config() const { return config_; }
  /// Master weights and their names (TorchRec's). After changing weights, call Pack.
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  /// Rows of a micro-batch: a constant a precision, part of what makes bits reproducible.
  virtual std::int64_t micro_batch() const = 0;
  /// Every layer that runs as matrix products, in forward order; the output layer (to one logit) does not.
  virtual std::vector<Linear*> linears() = 0;
  /// Scratch for one thread and units of at most `max_rows` rows.
  virtual std::unique_ptr<TowerWorkspace> MakeWorkspace(std::int64_t max_rows) const = 0;

  /// Brings the weights into the GEMM's layout. After construction, loading, and every optimizer step.
  void Pack(ThreadPool& pool) {
    pool.Run(num_pack_jobs(), [this](std::int64_t job, int) { PackJob(job); });
  }
  /// The same as independent jobs, the largest first, each to be run once by any thread.
  virtual std::int64_t num_pack_jobs() const = 0;
  virtual void PackJob(std::int64_t job) = 0;

  /// Logits only. Thread-safe with distinct workspaces.
  virtual void Forward(const TowerBatch& batch, TowerWorkspace& workspace) const = 0;

  /// Forward and backward of one unit. Writes logits, dpooled, and the unit's gradient of every parameter
  /// into `gradient` ([parameters().padded_size()], overwritten, not added to). Returns the sum over the
  /// unit's samples, in sample order, of the loss (BCE with logits) times the sample's weight, unscaled.
  /// Thread-safe with distinct workspaces and gradients.
  virtual double ForwardBackward(const TowerBatch& batch, std::span<float> gradient,
                                 TowerWorkspace& workspace) const = 0;

 protected:
  explicit Tower(ModelConfig config) : config_(std::move(config)) {}
  ModelConfig config_;
  Parameters parameters_;
};

/// Makes the tower that the configuration names, initialised from the seed (docs/ARCHITECTURE.md, "Initial
/// values"), packed.
std::unique_ptr<Tower> MakeTower(const ModelConfig& config, std::uint64_t seed, ThreadPool& pool);

}  // namespace hotrow
