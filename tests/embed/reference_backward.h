#pragma once
// The backward of a table, written from its definition: T = float gives the bits, T = double the values.

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow::test {

template <typename T>
using RowValues = std::vector<T>;

/// Weights and state of a whole table, [rows, dim] and [rows, state_width].
template <typename T>
struct TableValues {
  std::vector<T> weights;
  std::vector<T> state;
};

template <typename T>
TableValues<T> ReadTable(const EmbeddingTable& table) {
  std::vector<float> weights(static_cast<std::size_t>(table.rows() * table.dim()));
  std::vector<float> state(static_cast<std::size_t>(table.rows() * table.state_width()));
  table.ReadRows(0, table.rows(), weights.data());
  table.ReadState(0, table.rows(), state.data());
  return {{weights.begin(), weights.end()}, {state.begin(), state.end()}};
}

/// Units [first, first + size), size a power of two: the tree's node over them.
template <typename T>
std::optional<RowValues<T>> TreeNode(const std::map<std::int64_t, RowValues<T>>& units, std::int64_t first,
                                     std::int64_t size) {
  if (size == 1) {
    const auto found = units.find(first);
    return found == units.end() ? std::nullopt : std::optional(found->second);
  }
  auto left = TreeNode(units, first, size / 2);
  const auto right = TreeNode(units, first + size / 2, size / 2);
  if (!left) return right;
  if (!right) return left;
  for (std::size_t c = 0; c < left->size(); ++c) (*left)[c] = (*left)[c] + (*right)[c];
  return left;
}

/// Each touched row's gradient.
template <typename T>
std::map<std::int64_t, RowValues<T>> ReferenceSums(const BagGradients& input, std::int64_t units) {
  const auto dim = static_cast<std::size_t>(input.table->dim());
  const std::int64_t samples = input.features[0].bags.samples;
  std::map<std::int64_t, std::map<std::int64_t, RowValues<T>>> sums;  // row -> unit -> sum
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const Slice slice = EvenSlice(samples, units, unit);
    for (std::int64_t sample = slice.begin; sample < slice.end; ++sample) {
      for (const FeatureGradient& feature : input.features) {
        const FeatureBags& bags = feature.bags;
        int valid = 0;
        for (std::int64_t p = bags.begin(sample); p < bags.end(sample); ++p) {
          valid += bags.ids[static_cast<std::size_t>(p)] >= 0;
        }
        for (std::int64_t p = bags.begin(sample); p < bags.end(sample); ++p) {
          const auto at = static_cast<std::size_t>(p);
          if (bags.ids[at] < 0) continue;
          T scale = bags.weights.empty() ? T{1} : static_cast<T>(bags.weights[at]);
          if (input.table->config().pooling == PoolingType::kMean)
            scale = scale * (T{1} / static_cast<T>(valid));
          auto& row = sums[bags.ids[at]];
          const bool first = !row.contains(unit);
          RowValues<T>& sum = row[unit];
          sum.resize(dim);
          for (std::size_t c = 0; c < dim; ++c) {
            const T value =
                static_cast<T>(feature.gradient[static_cast<std::size_t>(sample * feature.stride) + c]) *
                scale;
            sum[c] = first ? value : sum[c] + value;
          }
        }
      }
    }
  }
  std::int64_t leaves = 1;
  while (leaves < units) leaves *= 2;
  std::map<std::int64_t, RowValues<T>> out;
  for (const auto& [row, of_units] : sums) out[row] = *TreeNode(of_units, 0, leaves);
  return out;
}

/// mean(g^2) in the documented order.
template <typename T>
T ReferenceMeanSquare(const RowValues<T>& g) {
  const auto square = [&](std::size_t c) { return c < g.size() ? g[c] * g[c] : T{0}; };
  std::vector<T> sums(16, T{0});
  for (std::size_t group = 0; 4 * group < g.size(); ++group) {
    const std::size_t c = 4 * group;
    sums[group % 16] += (square(c) + square(c + 1)) + (square(c + 2) + square(c + 3));
  }
  while (sums.size() > 1) {
    const std::size_t half = sums.size() / 2;
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    sums.resize(half);
  }
  return sums[0] * (T{1} / static_cast<T>(g.size()));
}

/// One optimizer step on row `row` with gradient g.
template <typename T>
void ReferenceUpdate(const OptimizerConfig& config, std::int64_t step, std::int64_t row, RowValues<T> g,
                     TableValues<T>& values) {
  const OptimizerFactors f = MakeOptimizerFactors(config, step);
  const std::size_t dim = g.size();
  T* w = values.weights.data() + static_cast<std::size_t>(row) * dim;
  T* state = values.state.data() +
             static_cast<std::size_t>(row * StateWidth(config.kind, static_cast<std::int64_t>(dim)));
  const T lr = static_cast<T>(f.learning_rate);
  const T eps = static_cast<T>(f.eps);
  if (config.weight_decay_mode == WeightDecayMode::kL2) {
    for (std::size_t c = 0; c < dim; ++c) g[c] = g[c] + static_cast<T>(f.l2) * w[c];
  }
  T rate = 0;
  if (config.kind == OptimizerKind::kRowWiseAdagrad) {
    state[0] = state[0] + ReferenceMeanSquare(g);
    rate = lr / (std::sqrt(state[0]) + eps);
  }
  for (std::size_t c = 0; c < dim; ++c) {
    T update = 0;
    switch (config.kind) {
      case OptimizerKind::kSgd:
        update = lr * g[c];
        break;
      case OptimizerKind::kRowWiseAdagrad:
        update = rate * g[c];
        break;
      case OptimizerKind::kAdagrad:
        state[c] = state[c] + g[c] * g[c];
        update = lr * g[c] / (std::sqrt(state[c]) + eps);
        break;
      case OptimizerKind::kAdam: {
        T& m = state[c];
        T& v = state[dim + c];
        m = static_cast<T>(f.beta1) * m + static_cast<T>(f.beta1_rest) * g[c];
        v = static_cast<T>(f.beta2) * v + static_cast<T>(f.beta2_rest) * (g[c] * g[c]);
        update =
            lr * (m * static_cast<T>(f.m_correction)) / (std::sqrt(v * static_cast<T>(f.v_correction)) + eps);
        break;
      }
    }
    if (config.weight_decay_mode == WeightDecayMode::kDecoupled) w[c] = static_cast<T>(f.keep) * w[c];
    w[c] = w[c] - update;
  }
}

}  // namespace hotrow::test
