#include "hotrow/dense/mlp.h"

#include <fmt/core.h>

#include <algorithm>

namespace hotrow {

Mlp::Mlp(Parameters& parameters, const std::string& prefix, std::int64_t in,
         std::span<const std::int64_t> sizes, std::int64_t in_padding, bool input_gradient,
         std::int64_t rows) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool first = i == 0;
    LinearSpec spec = AddLinear(parameters, fmt::format("{}.{}._linear", prefix, i),
                                first ? in : sizes[i - 1], sizes[i], true, first ? in_padding : 1);
    spec.input_gradient = !first || input_gradient;
    layers_.emplace_back(parameters, spec, rows);
  }
}

MlpRunner::MlpRunner(const Mlp& mlp, GemmScratch& scratch, Arena& arena, std::int64_t rows) : arena_(&arena) {
  std::int64_t widest = 0;
  for (const Linear& layer : mlp.layers()) {
    layers_.emplace_back(layer, scratch);
    outputs_.push_back(arena.Add(rows * layer.out()));
    widest = std::max(widest, layer.out());
  }
  for (std::int64_t& gradient : gradients_) gradient = arena.Add(rows * widest);
}

const float* MlpRunner::Forward(std::int64_t rows, const float* x) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    float* y = arena_->at(outputs_[i]);
    layers_[i].Forward(rows, x, y);
    x = y;
  }
  return x;
}

float* MlpRunner::output_gradient() { return arena_->at(gradients_[(layers_.size() - 1) % 2]); }

void MlpRunner::MaskOutputGradient(std::int64_t rows, const float* dy, std::int64_t dy_stride,
                                   Accumulate accumulate, float* gradient) {
  const std::int64_t out = layers_.back().linear().out();
  ReluBackward(arena_->at(outputs_.back()), out, dy, dy_stride, rows, out, accumulate, output_gradient(),
               OutputBiasGradient(gradient));
}

void MlpRunner::Backward(std::int64_t rows, const float* x, Accumulate accumulate, float* gradient,
                         float* dx) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const float* dz = arena_->at(gradients_[i % 2]);
    layers_[i].WeightGradient(rows, i > 0 ? arena_->at(outputs_[i - 1]) : x, dz, accumulate, gradient);
    if (i == 0) {
      if (dx != nullptr) layers_[0].InputGradient(rows, dz, dx);
      return;
    }
    float* below = arena_->at(gradients_[(i - 1) % 2]);
    layers_[i].InputGradient(rows, dz, below);
    const std::int64_t out = layers_[i - 1].linear().out();
    ReluBackward(arena_->at(outputs_[i - 1]), out, below, out, rows, out, accumulate, below,
                 layers_[i - 1].BiasGradient(gradient));
  }
}

}  // namespace hotrow
