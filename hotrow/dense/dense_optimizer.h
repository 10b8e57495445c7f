#pragma once
// The optimizer of the dense parameters: sums the units' gradients in tree order and updates, in one pass.

#include <cstdint>
#include <span>

#include "hotrow/base/buffer.h"
#include "hotrow/base/thread_pool.h"
#include "hotrow/dense/parameters.h"
#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

class DenseOptimizer {
 public:
  /// Row-wise Adagrad is no optimizer for dense parameters: it stands for Adagrad here (as the CLI
  /// documents).
  DenseOptimizer(const OptimizerConfig& config, const Parameters& parameters);

  const OptimizerConfig& config() const { return config_; }
  void set_learning_rate(float learning_rate) { config_.learning_rate = learning_rate; }

  /// unit_gradients[u] points at unit u's gradient [padded_size]; null: the unit is absent and adds nothing.
  /// Sums them with the canonical binary tree in registers and applies the optimizer; no summed gradient is
  /// ever stored. `step` counts from 1.
  void Step(Parameters& parameters, std::span<const float* const> unit_gradients, std::int64_t step,
            ThreadPool& pool);

  /// Optimizer state, [StateWidth per element][padded_size]: Adagrad one plane, Adam two (m, then v), SGD
  /// none.
  std::span<float> state() { return state_.span(); }
  std::span<const float> state() const { return state_.span(); }
  std::uint64_t StateHash(const Parameters& parameters) const;

 private:
  OptimizerConfig config_;
  Buffer<float> state_;
};

}  // namespace hotrow
