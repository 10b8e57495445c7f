#pragma once
// Which optimizer, with which numbers: plain data for both halves of the model.

#include <cstdint>
#include <string>

namespace hotrow {

enum class OptimizerKind { kSgd, kAdagrad, kRowWiseAdagrad, kAdam };
enum class WeightDecayMode { kNone, kL2, kDecoupled };

/// Definitions, g the gradient after an L2 decay was added (g += weight_decay * w):
///   SGD               w -= lr * g
///   Adagrad           h += g^2;                        w -= lr * g / (sqrt(h) + eps)
///   row-wise Adagrad  h += mean(g^2) over the full row; w -= lr * g / (sqrt(h) + eps); one h a row
///   Adam              m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr * m' / (sqrt(v') + eps),
///                     m' and v' bias-corrected with the global step (1 at the first step)
/// decoupled decay: w = (1 - lr * weight_decay) * w - update, the update from the undecayed gradient.
/// Adagrad: Duchi, Hazan, Singer, JMLR 2011. Adam: Kingma, Ba, ICLR 2015. Decoupled decay: Loshchilov,
/// Hutter, ICLR 2019.
struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdagrad;
  float learning_rate = 0.01F;
  float eps = 1e-8F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float initial_accumulator = 0.0F;  ///< what h starts from; Adagrad and row-wise Adagrad
  float weight_decay = 0.0F;
  WeightDecayMode weight_decay_mode = WeightDecayMode::kNone;

  friend bool operator==(const OptimizerConfig&, const OptimizerConfig&) = default;
};

/// Throws Error naming the field when a number is not finite or out of its range (learning_rate >= 0, eps >=
/// 0, betas in [0, 1), initial_accumulator >= 0 and 0 for optimizers without h, weight_decay >= 0, decay
/// given iff its mode is not none).
void Validate(const OptimizerConfig& config);

/// What each fp32 number of an optimizer's state starts from.
float InitialState(const OptimizerConfig& config);

/// All of it as one line of text: equal texts, equal optimizers.
std::string ToString(const OptimizerConfig& config);

/// fp32 numbers of state that a row of `dim` columns keeps: SGD 0, Adagrad dim, row-wise Adagrad 1,
/// Adam 2 dim.
std::int64_t StateWidth(OptimizerKind kind, std::int64_t dim);

/// "sgd", "adagrad", "rowwise_adagrad", "adam" and back; throws Error listing them.
OptimizerKind ParseOptimizerKind(const std::string& text);
std::string ToString(OptimizerKind kind);
/// "none", "l2", "decoupled" and back; throws Error listing them.
WeightDecayMode ParseWeightDecayMode(const std::string& text);
std::string ToString(WeightDecayMode mode);

}  // namespace hotrow
