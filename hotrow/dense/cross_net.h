#pragma once
// The low-rank cross net of DCN v2: x_{l+1} = x_0 ⊙ (W_l (V_l x_l) + b_l) + x_l.
// Wang et al., "DCN V2", WWW 2021, section 3.3 (without the mixture of experts); TorchRec's LowRankCrossNet.

#include <memory>
#include <vector>

#include "hotrow/dense/interaction.h"

namespace hotrow {

class CrossNet : public InteractionArch {
 public:
  /// Adds "PREFIX.V_kernels.{l}", "PREFIX.W_kernels.{l}" and "PREFIX.bias.{l}". num_layers >= 1.
  CrossNet(Parameters& parameters, const std::string& prefix, std::int64_t width, std::int64_t rank,
           std::int64_t num_layers, std::int64_t rows);

  std::int64_t out() const override { return width_; }
  std::int64_t out_padded() const override { return width_; }
  std::vector<Linear*> linears() override;
  std::unique_ptr<InteractionRunner> MakeRunner(GemmScratch& scratch, Arena& arena,
                                                std::int64_t rows) const override;

  struct Layer {
    Linear v;  // x → rank, no bias
    Linear w;  // rank → x, with bias
  };
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  std::int64_t width_;
  std::vector<Layer> layers_;
};

}  // namespace hotrow
