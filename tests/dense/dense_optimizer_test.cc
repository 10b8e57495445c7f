#include "hotrow/dense/dense_optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/dense/naive.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

using test::Floats;
using test::RandomFloats;
using test::Z;

void AddParameters(Parameters& parameters, std::int64_t rows) {
  parameters.Add("w", rows, 37, true, false, 32);
  parameters.Add("b", 1, 37, false, true);
  parameters.Allocate();
  const Floats values = RandomFloats(parameters.padded_size(), 1);
  std::copy(values.begin(), values.end(), parameters.weights());
  parameters.ZeroPadding(parameters.weights());
}

Floats WeightsOf(const Parameters& parameters) {
  return {parameters.weights(), parameters.weights() + parameters.padded_size()};
}

// Gradients of `units` units, zero in padding; those in `absent` are null.
struct Gradients {
  Gradients(const Parameters& parameters, std::int64_t units, const std::vector<std::int64_t>& absent)
      : buffers(parameters.padded_size(), units) {
    for (std::int64_t u = 0; u < units; ++u) {
      Floats values = RandomFloats(parameters.padded_size(), 100 + static_cast<std::uint64_t>(u));
      // Random floats lie on a grid on which sums of a few are exact; thirds round, so that their order
      // shows.
      for (float& value : values) value /= 3.0F;
      std::copy(values.begin(), values.end(), buffers.at(u).begin());
      parameters.ZeroPadding(buffers.at(u).data());
      const bool present = std::find(absent.begin(), absent.end(), u) == absent.end();
      pointers.push_back(present ? buffers.at(u).data() : nullptr);
    }
  }
  UnitGradients buffers;
  std::vector<const float*> pointers;
};

// The tree by its definition: the sum of the units in [first, first + size), halves first.
std::optional<float> TreeSum(const std::vector<const float*>& units, std::size_t first, std::size_t size,
                             std::int64_t element) {
  if (first >= units.size()) return std::nullopt;
  if (size == 1) return units[first] == nullptr ? std::nullopt : std::optional(units[first][element]);
  const auto left = TreeSum(units, first, size / 2, element);
  const auto right = TreeSum(units, first + size / 2, size / 2, element);
  if (left && right) return *left + *right;
  return left ? left : right;
}

// SGD with learning rate 1 from weights 0 shows the summed gradient itself.
TEST(DenseOptimizerTest, SumsUnitsInTreeOrder) {
  struct Case {
    std::int64_t units;
    std::vector<std::int64_t> absent;
  };
  const Case cases[] = {{1, {}},           {2, {}},
                        {8, {}},           {8, {3}},
                        {8, {0, 1, 2, 3}}, {8, {7, 4}},
                        {16, {}},          {16, {1, 5, 6, 7}},
                        {6, {}},           {8, {0, 1, 2, 3, 4, 5, 6, 7}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.units << " units, " << c.absent.size() << " absent");
    Parameters parameters;
    AddParameters(parameters, 30);
    const Gradients gradients(parameters, c.units, c.absent);
    test::ForEachSimdTarget([&] {
      std::fill_n(parameters.weights(), parameters.padded_size(), 0.0F);
      OptimizerConfig config;
      config.kind = OptimizerKind::kSgd;
      config.learning_rate = 1.0F;
      DenseOptimizer optimizer(config, parameters);
      ThreadPool pool(1);
      optimizer.Step(parameters, gradients.pointers, 1, pool);
      for (std::int64_t i = 0; i < parameters.padded_size(); ++i) {
        const float sum = TreeSum(gradients.pointers, 0, 16, i).value_or(0.0F);
        ASSERT_EQ(parameters.weights()[i], 0.0F - sum) << "element " << i;
      }
    });
  }
}

struct Outcome {
  Floats weights, state;
  bool operator==(const Outcome&) const = default;
};

Outcome ThreeSteps(const OptimizerConfig& config, int threads, std::int64_t rows) {
  Parameters parameters;
  AddParameters(parameters, rows);
  const Gradients gradients(parameters, 8, {});
  DenseOptimizer optimizer(config, parameters);
  ThreadPool pool(threads);
  for (std::int64_t step = 1; step <= 3; ++step) optimizer.Step(parameters, gradients.pointers, step, pool);
  return {WeightsOf(parameters), Floats(optimizer.state().begin(), optimizer.state().end())};
}

std::vector<OptimizerConfig> AllConfigs() {
  std::vector<OptimizerConfig> all;
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kAdam}) {
    for (const WeightDecayMode mode :
         {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecoupled}) {
      OptimizerConfig config;
      config.kind = kind;
      config.weight_decay_mode = mode;
      if (mode != WeightDecayMode::kNone) config.weight_decay = 0.1F;
      all.push_back(config);
    }
  }
  return all;
}

TEST(DenseOptimizerTest, BitsDependNeitherOnThreadsNorOnVectorUnits) {
  for (const OptimizerConfig& config : AllConfigs()) {
    SCOPED_TRACE(ToString(config.kind) + " " + ToString(config.weight_decay_mode));
    const Outcome one = ThreeSteps(config, 1, 2000);  // more than two tasks' worth
    EXPECT_EQ(ThreeSteps(config, 2, 2000), one);
    EXPECT_EQ(ThreeSteps(config, 3, 2000), one);
    const Outcome small = ThreeSteps(config, 1, 30);
    test::ForEachSimdTarget([&] { EXPECT_EQ(ThreeSteps(config, 1, 30), small); });
  }
}

TEST(DenseOptimizerTest, FollowsTheDefinitions) {
  for (const OptimizerConfig& config : AllConfigs()) {
    SCOPED_TRACE(ToString(config.kind) + " " + ToString(config.weight_decay_mode));
    Parameters parameters;
    AddParameters(parameters, 30);
    const Floats before = WeightsOf(parameters);
    const Gradients gradients(parameters, 8, {});
    const Outcome run = ThreeSteps(config, 1, 30);
    const double lr = config.learning_rate, eps = config.eps, decay = config.weight_decay;
    const double b1 = config.beta1, b2 = config.beta2;
    for (std::int64_t i = 0; i < parameters.padded_size(); ++i) {
      const double raw = *TreeSum(gradients.pointers, 0, 8, i);
      double w = before[Z(i)], h = 0.0, m = 0.0, v = 0.0;
      for (int step = 1; step <= 3; ++step) {
        const double g = raw + (config.weight_decay_mode == WeightDecayMode::kL2 ? decay * w : 0.0);
        double update = lr * g;
        if (config.kind == OptimizerKind::kAdagrad) {
          h += g * g;
          update = lr * g / (std::sqrt(h) + eps);
        } else if (config.kind == OptimizerKind::kAdam) {
          m = b1 * m + (1.0 - b1) * g;
          v = b2 * v + (1.0 - b2) * g * g;
          update = lr * (m / (1.0 - std::pow(b1, step))) / (std::sqrt(v / (1.0 - std::pow(b2, step))) + eps);
        }
        if (config.weight_decay_mode == WeightDecayMode::kDecoupled) w *= 1.0 - lr * decay;
        w -= update;
      }
      ASSERT_NEAR(run.weights[Z(i)], w, 2e-5 * (1.0 + std::fabs(w))) << "element " << i;
    }
  }
}

TEST(DenseOptimizerTest, PaddingStaysZeroEvenWithoutEps) {
  for (OptimizerConfig config : AllConfigs()) {
    config.eps = 0.0F;
    const Outcome run = ThreeSteps(config, 1, 30);
    for (std::int64_t i = 30 * 37; i < 32 * 37; ++i) ASSERT_EQ(run.weights[Z(i)], 0.0F);
  }
}

TEST(DenseOptimizerTest, RowWiseAdagradStandsForAdagrad) {
  OptimizerConfig config;
  const Outcome adagrad = ThreeSteps(config, 1, 30);
  config.kind = OptimizerKind::kRowWiseAdagrad;
  EXPECT_EQ(ThreeSteps(config, 1, 30), adagrad);
}

TEST(DenseOptimizerTest, StateHashSeesEachPlane) {
  Parameters parameters;
  AddParameters(parameters, 5);
  OptimizerConfig config;
  config.kind = OptimizerKind::kAdam;
  DenseOptimizer optimizer(config, parameters);
  const auto size = Z(parameters.padded_size());
  ASSERT_EQ(optimizer.state().size(), 2 * size);
  optimizer.state()[0] = 1.0F;
  const std::uint64_t first = optimizer.StateHash(parameters);
  std::swap(optimizer.state()[0], optimizer.state()[size]);
  EXPECT_NE(optimizer.StateHash(parameters), first);
  config.kind = OptimizerKind::kSgd;
  EXPECT_EQ(DenseOptimizer(config, parameters).StateHash(parameters), 0U);
}

}  // namespace
}  // namespace hotrow
