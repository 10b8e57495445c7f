#pragma once
// DLRM's interaction: the dense arch's output, then the dot products of all pairs of the F + 1 vectors.
// Naumov et al., arXiv:1906.00091; TorchRec's InteractionArch.

#include <memory>
#include <vector>

#include "hotrow/dense/interaction.h"

namespace hotrow {

/// out = [x_0, x_0·x_1, x_0·x_2, …, x_1·x_2, …]: the strict upper triangle of X·Xᵀ row by row. x
/// [rows, vectors * dim]; out rows are `out_stride` apart and written up to their dim + pairs columns.
void DotForward(const float* x, std::int64_t rows, std::int64_t vectors, std::int64_t dim,
                std::int64_t out_stride, float* out);

/// dx[rows, vectors * dim] = the gradient: dx_i = (i == 0: dout[:dim]) + Σ_{j != i} dout(i, j) x_j, j
/// ascending.
void DotBackward(const float* x, const float* dout, std::int64_t rows, std::int64_t vectors, std::int64_t dim,
                 std::int64_t out_stride, float* dx);

class DotInteraction : public InteractionArch {
 public:
  DotInteraction(std::int64_t num_features, std::int64_t dim);

  std::int64_t out() const override { return out_; }
  std::int64_t out_padded() const override { return out_padded_; }
  std::vector<Linear*> linears() override { return {}; }
  std::unique_ptr<InteractionRunner> MakeRunner(GemmScratch& scratch, Arena& arena,
                                                std::int64_t rows) const override;

 private:
  std::int64_t vectors_;
  std::int64_t dim_;
  std::int64_t out_;
  std::int64_t out_padded_;
};

}  // namespace hotrow
