#pragma once
// A stack of linear layers with a ReLU after each, the last too.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hotrow/dense/arena.h"
#include "hotrow/dense/linear.h"

namespace hotrow {

class Mlp {
 public:
  /// Adds the parameters of layers in → sizes[0] → … to `parameters`, named "PREFIX.{i}._linear.weight" and
  /// ".bias". `rows`: the usual micro-batch. `input_gradient`: whether Backward gives dx. No layers: out() is
  /// the input.
  Mlp(Parameters& parameters, const std::string& prefix, std::int64_t in, std::span<const std::int64_t> sizes,
      std::int64_t in_padding, bool input_gradient, std::int64_t rows);

  std::vector<Linear>& layers() { return layers_; }
  const std::vector<Linear>& layers() const { return layers_; }

 private:
  std::vector<Linear> layers_;
};

/// Activations and products of one thread.
class MlpRunner {
 public:
  /// Takes room for at most `rows` rows from the arena, which is allocated before the first call.
  MlpRunner(const Mlp& mlp, GemmScratch& scratch, Arena& arena, std::int64_t rows);

  bool empty() const { return layers_.empty(); }

  /// As LinearRunner's, for all layers.
  void Prepare(std::int64_t rows, std::optional<Accumulate> backward) {
    for (LinearRunner& layer : layers_) layer.Prepare(rows, backward);
  }

  /// The last layer's output [rows, out], kept for Backward. x [rows, padded in].
  const float* Forward(std::int64_t rows, const float* x);

  /// Where the gradient of what stands before the last layer's ReLU belongs, [rows, out]. Either the caller
  /// writes it there and adds its column sums to the bias, or MaskOutputGradient does both.
  float* output_gradient();
  float* OutputBiasGradient(float* gradient) const { return layers_.back().BiasGradient(gradient); }
  void MaskOutputGradient(std::int64_t rows, const float* dy, std::int64_t dy_stride, Accumulate accumulate,
                          float* gradient);

  /// From output_gradient() to the parameters' parts of the flat gradient and, unless null, dx. x is read for
  /// the last time before dx is written: they may be the same memory.
  void Backward(std::int64_t rows, const float* x, Accumulate accumulate, float* gradient, float* dx);

 private:
  Arena* arena_;
  std::vector<LinearRunner> layers_;
  std::vector<std::int64_t> outputs_;  // arena numbers
  std::int64_t gradients_[2] = {};     // taken in turns from layer to layer
};

}  // namespace hotrow
