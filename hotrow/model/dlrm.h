#pragma once
// DLRM: a dense arch, an interaction of its output with the pooled embeddings, and an over arch that ends in
// one logit. With the low-rank cross net it is DLRM-DCN (MLPerf's DLRM-v2), with dot products the first DLRM.

#include <memory>
#include <vector>

#include "hotrow/dense/interaction.h"
#include "hotrow/dense/mlp.h"
#include "hotrow/model/tower.h"

namespace hotrow {

class DlrmTower : public Tower {
 public:
  /// fp32: half a unit of the usual size; as fast as the whole of it, with half the activations
  /// (docs/EXPERIMENT_LOG.md).
  static constexpr std::int64_t kMicroBatch = 256;
  /// Columns of the dense input are padded to a multiple of this: the GEMM's kernels want whole vectors.
  static constexpr std::int64_t kDensePadding = 32;
  /// And those of the over arch's input, to whole cache lines (dot interaction only).
  static constexpr std::int64_t kOverPadding = 16;

  /// Layers with all parameters zero: call Initialize or load them, then Pack.
  explicit DlrmTower(const ModelConfig& config);
  /// Linear layers U(±1/sqrt(fan_in)), weight and bias; cross V and W Xavier normal, their bias zero, as
  /// in the MLPerf reference.
  void Initialize(std::uint64_t seed, ThreadPool& pool);

  std::int64_t micro_batch() const override { return kMicroBatch; }
  std::vector<Linear*> linears() override;
  std::unique_ptr<TowerWorkspace> MakeWorkspace(std::int64_t max_rows) const override;
  std::int64_t num_pack_jobs() const override { return static_cast<std::int64_t>(pack_jobs_.size()); }
  void PackJob(std::int64_t job) override;
  void Forward(const TowerBatch& batch, TowerWorkspace& workspace) const override;
  double ForwardBackward(const TowerBatch& batch, std::span<float> gradient,
                         TowerWorkspace& workspace) const override;

 private:
  class Workspace;
  // What one micro-batch's forward leaves for its backward.
  struct Activations {
    const float* z = nullptr;  // the over arch's input
    const float* h = nullptr;  // the output layer's
  };
  TowerBatch Rows(const TowerBatch& batch, std::int64_t first) const;
  Activations ForwardRows(const TowerBatch& rows, Workspace& workspace) const;
  void BackwardRows(const TowerBatch& rows, const Activations& kept, Accumulate accumulate, float* gradient,
                    Workspace& workspace) const;

  std::unique_ptr<Mlp> dense_arch_;
  std::unique_ptr<InteractionArch> interaction_;
  std::unique_ptr<Mlp> over_arch_;  // all layers but the output layer
  LinearSpec output_;
  std::int64_t width_ = 0;                  // of the interaction's input
  std::vector<std::int64_t> feature_dims_;  // of each feature
  std::int64_t dense_padded_ = 0;
  std::int64_t output_in_ = 0;  // columns of the output layer's input as they lie in memory

  struct LayerPack {
    Linear* layer;
    int number;
  };
  std::vector<LayerPack> pack_jobs_;  // the largest first
};

}  // namespace hotrow
