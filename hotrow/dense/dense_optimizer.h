#pragma once
// The optimizer of the dense parameters: sums the units' gradients in tree order and updates, in one pass.

#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/dense/arena.h"
#include "hotrow/dense/parameters.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {

class DenseOptimizer {
 public:
  /// Row-wise Adagrad is no optimizer for dense parameters: it stands for Adagrad here (as the CLI
  /// documents), and config() says so.
  DenseOptimizer(const OptimizerConfig& config, const Parameters& parameters);

  const OptimizerConfig& config() const { return config_; }

  /// A whole DenseUpdate.
  void Step(Parameters& parameters, std::span<const float* const> unit_gradients, OptimizerStep step,
            ThreadPool& pool);

  /// Optimizer state, [StateWidth per element][padded_size]: Adagrad one plane, Adam two (m, then v), SGD
  /// none. It starts from InitialState.
  std::span<float> state() { return {state_.at(1), static_cast<std::size_t>(state_size_)}; }
  std::span<const float> state() const { return {state_.at(1), static_cast<std::size_t>(state_size_)}; }
  /// Parameters::Hash of each plane, the second one mixed so that planes cannot be exchanged. SGD: 0.
  std::uint64_t StateHash(const Parameters& parameters) const;

 private:
  OptimizerConfig config_;
  std::int64_t state_size_ = 0;
  Arena state_;
};

struct UpdateJob;  // internal to the .cc

/// One step's update, run in parts: by the threads of a pool, or of several ranks that share the parameters.
class DenseUpdate {
 public:
  /// Elements of a part that is worth a thread's while.
  static constexpr std::int64_t kPart = 1 << 15;

  /// unit_gradients[u] points at unit u's gradient [padded_size]; null: the unit is absent and adds nothing.
  /// Every element of the summed gradient is multiplied by `gradient_factor` first. Everything must stay as
  /// it is until the last Run has returned.
  void Begin(DenseOptimizer& optimizer, Parameters& parameters, std::span<const float* const> unit_gradients,
             OptimizerStep step, float gradient_factor = 1.0F);
  /// Sums the units' gradients of these elements with the canonical binary tree, in registers, and applies
  /// the optimizer: no summed gradient is ever stored. Fastest when they come from UnitGradients. Every
  /// element is to be run once; parts that do not overlap may run at the same time.
  void Run(Slice elements) const;
  /// Writes the sum of the units' gradients of these elements, the same bits as Run's, to out[0 … size), and
  /// returns the sum of its squares: in double, in one order, so that it depends on the slice alone.
  double SumGradients(Slice elements, float* out) const;

 private:
  UpdateJob JobOf(Slice elements) const;

  const OptimizerConfig* config_ = nullptr;
  OptimizerFactors factors_;
  float gradient_factor_ = 1.0F;
  Parameters* parameters_ = nullptr;
  float* state_[2] = {};
  std::vector<const float*> gradients_;  // of the units present, ascending
  std::vector<std::uint64_t> units_;     // their numbers
};

/// The gradient buffers of a rank's units, laid out so that reading all of them side by side (and with them
/// weights and state) does not make them fight for the same places of the caches.
class UnitGradients {
 public:
  UnitGradients(std::int64_t padded_size, std::int64_t units);

  std::int64_t units() const { return units_; }
  std::span<float> at(std::int64_t unit) {
    return {arena_.at(kBefore + unit), static_cast<std::size_t>(padded_size_)};
  }

 private:
  static constexpr std::int64_t kBefore = 2;  // the places of the weights and of the state
  std::int64_t padded_size_;
  std::int64_t units_;
  Arena arena_;
};

}  // namespace hotrow
