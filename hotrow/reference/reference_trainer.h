#pragma once
// The oracle: a trainer of the same models in plain double precision, on one thread, written as the
// definitions read. Nothing of the engine is used but its plain-data configurations. Slow on purpose; small
// models only.
//
// Parameters, gradients and optimizer state are maps from TorchRec's names to arrays in TorchRec's shapes
// (linear weights [out, in], tables [rows, dim]).

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotrow/model/config.h"
#include "hotrow/optim/learning_rate_schedule.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow::reference {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};
using Tensors = std::map<std::string, Tensor>;

/// Zeros of the given shape.
Tensor Zeros(std::vector<std::int64_t> shape);

/// The ids of one sample and feature. Without weights each id counts once; an id of -1 counts for nothing.
struct Bag {
  std::vector<std::int64_t> ids;
  std::vector<double> weights;  ///< empty, or one an id
};
using Bags = std::vector<Bag>;  ///< one feature's, a sample each

struct Batch {
  std::vector<double> dense;                ///< [samples, num_dense]
  std::vector<Bags> features;               ///< in the order of the model's features
  std::vector<double> labels;               ///< [samples]
  std::vector<double> sample_weights = {};  ///< [samples], or none: 1 each
};

/// "sparse_arch.embedding_bag_collection.embedding_bags.TABLE.weight"
std::string TableParameterName(const std::string& table);

/// Names and shapes of every parameter of a model, tables included; all zeros.
Tensors ZeroParameters(const ModelConfig& config);

/// [samples, dim]: the sum of each bag's rows, each times its weight; MEAN divides by the number of ids that
/// count, and an empty bag is zero.
std::vector<double> Pool(const Tensor& table, PoolingType pooling, const Bags& bags);

/// The backward of Pool: adds each sample's output gradient to the gradients of the bag's rows, and the rows
/// to `touched`.
void AddPoolGradient(const std::vector<double>& output_gradient, PoolingType pooling, const Bags& bags,
                     Tensor& table_gradient, std::set<std::int64_t>& touched);

/// Optimizer state of one parameter, made at its first update. Row-wise Adagrad keeps first [rows]; Adagrad
/// first; Adam first = m, second = v, as large as the parameter; SGD none.
struct State {
  std::vector<double> first;
  std::vector<double> second;
  /// How far rounding alone may have moved each element of the parameter in an fp32 trainer of the same
  /// maths: its step with the gradient off by `gradient_error` times the tensor's largest, added up.
  /// Next to nothing except where a first gradient of the size of eps or less makes lr * g / (|g| + eps) an
  /// amplifier.
  std::vector<double> doubt;
};

/// fp32's at best: one rounding of what was added up. A gradient of exactly 0 had nothing added up and is
/// known.
inline constexpr double kGradientError = 0x1.0p-24;

/// One optimizer step of rows `rows` of a parameter (a vector is one row).
/// hotrow/optim/optimizer_config.h has the definitions.
void Update(const OptimizerConfig& config, OptimizerStep step, const Tensor& gradient,
            const std::set<std::int64_t>& rows, Tensor& parameter, State& state,
            double gradient_error = kGradientError);

/// Every row of a tensor.
std::set<std::int64_t> AllRows(const Tensor& tensor);

struct Evaluation {
  std::vector<double> logits;
  double relu_margin = std::numeric_limits<double>::infinity();  ///< smallest |input| of a ReLU: nearer to 0
                                                                 ///< than fp32's rounding, another trainer
                                                                 ///< may rightly fall on the other side
  double loss = 0;  ///< mean over the batch of BCE with logits, weighted where samples have weights
  std::vector<double> dpooled;  ///< feature after feature, [samples, dim]: d loss / d pooled embeddings
  Tensors gradients;            ///< of every parameter, tables whole
  std::map<std::string, std::set<std::int64_t>>
      touched;  ///< by table parameter: rows that occur in the batch
};

class Trainer {
 public:
  /// Tables have their optimizers in `config`. `unfused`: they go over every row of a table instead of the
  /// rows of the batch.
  Trainer(ModelConfig config, OptimizerConfig dense, bool unfused, Tensors parameters);

  /// Loss and gradients at the current parameters; labels may be absent (then only logits are made).
  Evaluation Evaluate(const Batch& batch) const;
  /// Evaluate, then one optimizer step on everything.
  Evaluation Step(const Batch& batch);

  const Tensors& parameters() const { return parameters_; }
  void set_parameters(Tensors parameters) { parameters_ = std::move(parameters); }
  /// Both as TrainerConfig's; without them the learning rate is constant and nothing is clipped.
  void set_schedule(const LearningRateSchedule& schedule) { schedule_ = schedule; }
  void set_clip_norm(double clip_norm) { clip_norm_ = clip_norm; }
  /// For State::doubt.
  void set_gradient_error(double error) { gradient_error_ = error; }
  const std::map<std::string, State>& state() const { return state_; }

 private:
  ModelConfig config_;
  void ClipDense(Tensors& gradients) const;

  OptimizerConfig dense_;
  LearningRateSchedule schedule_;
  double clip_norm_ = 0;
  bool unfused_;
  double gradient_error_ = kGradientError;
  std::int64_t step_ = 0;
  Tensors parameters_;
  std::map<std::string, State> state_;
};

}  // namespace hotrow::reference
