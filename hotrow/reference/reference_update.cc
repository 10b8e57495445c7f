// The optimizers as their definitions read.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "hotrow/reference/reference_trainer.h"

namespace hotrow::reference {
namespace {

std::size_t U(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::set<std::int64_t> AllRows(const Tensor& tensor) {
  std::set<std::int64_t> rows;
  for (std::int64_t r = 0; r < (tensor.shape.size() == 1 ? 1 : tensor.shape[0]); ++r) rows.insert(r);
  return rows;
}

void Update(const OptimizerConfig& config, OptimizerStep step, const Tensor& gradient,
            const std::set<std::int64_t>& rows, Tensor& parameter, State& state, double gradient_error) {
  const double lr = config.learning_rate * step.rate_factor;
  const double eps = config.eps;
  const double decay = config.weight_decay;
  const double beta1 = config.beta1;
  const double beta2 = config.beta2;
  const std::size_t columns = U(parameter.shape.back());
  const bool row_wise = config.kind == OptimizerKind::kRowWiseAdagrad;
  state.first.resize(parameter.data.size() / (row_wise ? columns : 1), double{InitialState(config)});
  state.second.resize(parameter.data.size(), 0.0);
  state.doubt.resize(parameter.data.size(), 0.0);
  double largest = 0;
  for (const double x : gradient.data) largest = std::max(largest, std::abs(x));

  for (const std::int64_t row : rows) {
    double* w = &parameter.data[U(row) * columns];
    std::vector<double> g(&gradient.data[U(row) * columns], &gradient.data[U(row) * columns] + columns);
    if (config.weight_decay_mode == WeightDecayMode::kL2) {
      for (std::size_t c = 0; c < columns; ++c) g[c] += decay * w[c];
    }
    if (row_wise) {
      const double squares = std::inner_product(g.begin(), g.end(), g.begin(), 0.0);
      state.first[U(row)] += squares / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = U(row) * columns + c;
      // What a gradient of `x` subtracts from the weight; first and second are taken and left as that
      // gradient makes them.
      const auto update = [&](double x, double& first, double& second) {
        switch (config.kind) {
          case OptimizerKind::kSgd:
            return lr * x;
          case OptimizerKind::kRowWiseAdagrad:
            return lr * x / (std::sqrt(first) + eps);  // the row's g^2 is in already
          case OptimizerKind::kAdagrad:
            first += x * x;
            return lr * x / (std::sqrt(first) + eps);
          case OptimizerKind::kAdam:
            first = beta1 * first + (1 - beta1) * x;
            second = beta2 * second + (1 - beta2) * x * x;
            const double m = first / (1 - std::pow(beta1, static_cast<double>(step.number)));
            const double v = second / (1 - std::pow(beta2, static_cast<double>(step.number)));
            return lr * m / (std::sqrt(v) + eps);
        }
        throw std::logic_error("no such optimizer");
      };
      double& first = state.first[row_wise ? U(row) : i];
      double& second = state.second[i];
      const auto trial = [&](double x, double first_copy, double second_copy) {
        return update(x, first_copy, second_copy);
      };
      const double error = g[c] == 0 ? 0 : gradient_error * largest;
      const double less = trial(g[c] - error, first, second);
      const double more = trial(g[c] + error, first, second);
      const double exact = update(g[c], first, second);
      state.doubt[i] += std::max(std::abs(less - exact), std::abs(more - exact));
      const double kept = config.weight_decay_mode == WeightDecayMode::kDecoupled ? 1 - lr * decay : 1.0;
      w[c] = kept * w[c] - exact;
    }
  }
}

}  // namespace hotrow::reference
