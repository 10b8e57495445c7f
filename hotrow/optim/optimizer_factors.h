#pragma once
// One step's optimizer as the fp32 numbers that its inner loops multiply with.

#include <cstdint>
#include <type_traits>
#include <utility>

#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

/// Rounded once from double, so that every kernel on every vector width sees the same floats.
struct OptimizerFactors {
  float learning_rate = 0.0F;
  float eps = 0.0F;
  float l2 = 0.0F;    ///< g += l2 * w
  float keep = 1.0F;  ///< 1 - lr * weight_decay, decoupled decay
  float beta1 = 0.0F;
  float beta1_rest = 0.0F;  ///< 1 - beta1
  float beta2 = 0.0F;
  float beta2_rest = 0.0F;
  float m_correction = 1.0F;  ///< 1 / (1 - beta1^step)
  float v_correction = 1.0F;  ///< 1 / (1 - beta2^step)
};

/// One step of an optimizer.
struct OptimizerStep {
  /// A step at the configured learning rate, or at `rate_factor` times it.
  OptimizerStep(std::int64_t step_number, double factor = 1.0) : number(step_number), rate_factor(factor) {}

  std::int64_t number;  ///< from 1: Adam's bias correction
  double rate_factor;   ///< a schedule's (learning_rate_schedule.h)
};

OptimizerFactors MakeOptimizerFactors(const OptimizerConfig& config, OptimizerStep step);

/// Calls call(kind, decay) with the configuration's kind and decay mode as std::integral_constant, so that
/// the choice is made once, outside the loops.
template <typename Call>
decltype(auto) DispatchOptimizer(const OptimizerConfig& config, Call&& call) {
  const auto with_kind = [&](auto kind) {
    switch (config.weight_decay_mode) {
      case WeightDecayMode::kL2:
        return call(kind, std::integral_constant<WeightDecayMode, WeightDecayMode::kL2>{});
      case WeightDecayMode::kDecoupled:
        return call(kind, std::integral_constant<WeightDecayMode, WeightDecayMode::kDecoupled>{});
      case WeightDecayMode::kNone:
        break;
    }
    return call(kind, std::integral_constant<WeightDecayMode, WeightDecayMode::kNone>{});
  };
  switch (config.kind) {
    case OptimizerKind::kSgd:
      return with_kind(std::integral_constant<OptimizerKind, OptimizerKind::kSgd>{});
    case OptimizerKind::kRowWiseAdagrad:
      return with_kind(std::integral_constant<OptimizerKind, OptimizerKind::kRowWiseAdagrad>{});
    case OptimizerKind::kAdam:
      return with_kind(std::integral_constant<OptimizerKind, OptimizerKind::kAdam>{});
    case OptimizerKind::kAdagrad:
      break;
  }
  return with_kind(std::integral_constant<OptimizerKind, OptimizerKind::kAdagrad>{});
}

}  // namespace hotrow
