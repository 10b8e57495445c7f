#include "hotrow/optim/optimizer_config.h"

#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

void CheckAtLeastZero(const char* field, float value) {
  if (!std::isfinite(value) || value < 0.0F)
    Fail("optimizer: {} is {}, must be finite and >= 0", field, value);
}

void CheckBeta(const char* field, float value) {
  if (!(value >= 0.0F && value < 1.0F)) Fail("optimizer: {} is {}, must be in [0, 1)", field, value);
}

}  // namespace

void Validate(const OptimizerConfig& config) {
  CheckAtLeastZero("learning_rate", config.learning_rate);
  CheckAtLeastZero("eps", config.eps);
  CheckBeta("beta1", config.beta1);
  CheckBeta("beta2", config.beta2);
  CheckAtLeastZero("initial_accumulator", config.initial_accumulator);
  const bool accumulates =
      config.kind == OptimizerKind::kAdagrad || config.kind == OptimizerKind::kRowWiseAdagrad;
  if (config.initial_accumulator != 0.0F && !accumulates) {
    Fail(
        "optimizer: initial_accumulator is {} but {} has no accumulator; it is for adagrad and rowwise_adagrad",
        config.initial_accumulator, ToString(config.kind));
  }
  CheckAtLeastZero("weight_decay", config.weight_decay);
  const bool has_mode = config.weight_decay_mode != WeightDecayMode::kNone;
  if (config.weight_decay > 0.0F && !has_mode) {
    Fail(
        "optimizer: weight_decay is {} but weight_decay_mode is none; valid modes for a decay: l2, decoupled",
        config.weight_decay);
  }
  if (config.weight_decay == 0.0F && has_mode) {
    Fail("optimizer: weight_decay_mode is {} but weight_decay is 0, must be > 0",
         ToString(config.weight_decay_mode));
  }
}

float InitialState(const OptimizerConfig& config) { return config.initial_accumulator; }

std::string ToString(const OptimizerConfig& config) {
  return fmt::format("{} lr {} eps {} betas {} {} accumulator {} decay {} {}", ToString(config.kind),
                     config.learning_rate, config.eps, config.beta1, config.beta2, config.initial_accumulator,
                     config.weight_decay, ToString(config.weight_decay_mode));
}

std::int64_t StateWidth(OptimizerKind kind, std::int64_t dim) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return 0;
    case OptimizerKind::kAdagrad:
      return dim;
    case OptimizerKind::kRowWiseAdagrad:
      return 1;
    case OptimizerKind::kAdam:
      return CheckedMul(2, dim);
  }
  HOTROW_CHECK(false);
  return 0;
}

OptimizerKind ParseOptimizerKind(const std::string& text) {
  if (text == "sgd") return OptimizerKind::kSgd;
  if (text == "adagrad") return OptimizerKind::kAdagrad;
  if (text == "rowwise_adagrad") return OptimizerKind::kRowWiseAdagrad;
  if (text == "adam") return OptimizerKind::kAdam;
  Fail("unknown optimizer '{}', must be one of: sgd, adagrad, rowwise_adagrad, adam", text);
}

std::string ToString(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::kSgd:
      return "sgd";
    case OptimizerKind::kAdagrad:
      return "adagrad";
    case OptimizerKind::kRowWiseAdagrad:
      return "rowwise_adagrad";
    case OptimizerKind::kAdam:
      return "adam";
  }
  HOTROW_CHECK(false);
  return {};
}

WeightDecayMode ParseWeightDecayMode(const std::string& text) {
  if (text == "none") return WeightDecayMode::kNone;
  if (text == "l2") return WeightDecayMode::kL2;
  if (text == "decoupled") return WeightDecayMode::kDecoupled;
  Fail("unknown weight decay mode '{}', must be one of: none, l2, decoupled", text);
}

std::string ToString(WeightDecayMode mode) {
  switch (mode) {
    case WeightDecayMode::kNone:
      return "none";
    case WeightDecayMode::kL2:
      return "l2";
    case WeightDecayMode::kDecoupled:
      return "decoupled";
  }
  HOTROW_CHECK(false);
  return {};
}

}  // namespace hotrow
