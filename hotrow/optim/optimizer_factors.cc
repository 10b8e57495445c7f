#include "hotrow/optim/optimizer_factors.h"

#include <cmath>

#include "hotrow/base/error.h"

namespace hotrow {

OptimizerFactors MakeOptimizerFactors(const OptimizerConfig& config, OptimizerStep step) {
  HOTROW_CHECK(step.number >= 1);
  const double lr = config.learning_rate * step.rate_factor;
  const double decay = config.weight_decay;
  const double beta1 = config.beta1;
  const double beta2 = config.beta2;
  const auto power = static_cast<double>(step.number);
  OptimizerFactors factors;
  factors.learning_rate = static_cast<float>(lr);
  factors.eps = config.eps;
  factors.l2 = config.weight_decay;
  factors.keep = static_cast<float>(1.0 - lr * decay);
  factors.beta1 = config.beta1;
  factors.beta1_rest = static_cast<float>(1.0 - beta1);
  factors.beta2 = config.beta2;
  factors.beta2_rest = static_cast<float>(1.0 - beta2);
  factors.m_correction = static_cast<float>(1.0 / (1.0 - std::pow(beta1, power)));
  factors.v_correction = static_cast<float>(1.0 / (1.0 - std::pow(beta2, power)));
  return factors;
}

}  // namespace hotrow
