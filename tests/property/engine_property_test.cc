// The engine against the reference, on random models under every optimizer and decay, for several steps.
//
// Tolerances. The engine computes in fp32, the reference in double. A sum of n terms of size t is off by at
// most n * 2^-24 * t, in practice by sqrt(n) of that; the longest sums here (products over 900 columns or
// 1100 samples, through a few layers) leave some 1e-6 of the terms' size. Terms cancel, so that size is the
// tensor's, not the element's: hence `of_largest`. Each step starts from the engine's own weights: what
// rounding did to the last step is not compared twice. An optimizer may move an element further only by what
// the reference computes as its `doubt`. A ReLU whose input is within rounding of 0 may fall on either side:
// such data are not compared but drawn again.
#include <gtest/gtest.h>

#include "hotrow/reference/convert.h"
#include "tests/property/random_model.h"
#include "tests/support/close.h"
#include "tests/support/engine_model.h"

namespace hotrow::property {
namespace {

using reference::Close;
using reference::EngineModel;

constexpr reference::Tolerance kTolerance = {.relative = 2e-5, .absolute = 1e-6, .of_largest = 1e-5};
constexpr double kReluMargin = 5e-6;
constexpr int kSteps = 3;

struct Case {
  TrainerConfig config;
  int threads = 1;
  std::vector<Batch> batches;
};

OptimizerConfig AnyOptimizer(Dice& dice) {
  const auto kind = dice.Pick<OptimizerKind>(
      {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam});
  const auto decay =
      dice.Pick<WeightDecayMode>({WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecoupled});
  OptimizerConfig optimizer = RandomOptimizer(dice, kind, decay);
  if (kind == OptimizerKind::kAdagrad || kind == OptimizerKind::kRowWiseAdagrad)
    optimizer.initial_accumulator = dice.Pick<float>({0.0F, 0.1F});
  return optimizer;
}

Case RandomCase(std::uint64_t seed, OptimizerKind kind, WeightDecayMode decay) {
  Dice dice(seed);
  Case c;
  c.config.model = RandomModel(dice);
  SetOptimizer(c.config.model.tables, RandomOptimizer(dice, kind, decay));
  if (dice.Chance(40)) {
    for (EmbeddingTableConfig& table : c.config.model.tables) table.optimizer = AnyOptimizer(dice);
  }
  c.config.dense_optimizer = RandomOptimizer(dice, kind, decay);
  if (dice.Chance(40)) {
    c.config.schedule = {.kind = ScheduleKind::kPoly, .warmup_steps = 2, .decay_start = 2, .decay_steps = 4};
  }
  if (dice.Chance(40)) c.config.clip_norm = static_cast<double>(dice.Uniform(0.01F, 0.2F));
  c.config.sample_weights = dice.Chance(40);
  c.config.kernel = dice.Chance(50) ? BackwardKernel::kFused : BackwardKernel::kUnfused;
  const bool lazy = c.config.kernel == BackwardKernel::kFused && dice.Chance(50);
  c.config.storage = lazy ? StorageKind::kLazy : StorageKind::kEager;
  c.config.bad_ids = BadIds::kSkip;
  c.config.reduction_units = dice.Pick<std::int64_t>({1, 2, 8, 16});
  c.config.seed = seed;
  c.threads = static_cast<int>(dice.Between(1, 3));
  const bool weighted = dice.Chance(30);
  // Now and then one large batch: units of several micro-batches.
  const bool large = dice.Chance(15);
  for (int k = 0; k < (large ? 1 : kSteps); ++k) {
    const auto filling = dice.Pick<Filling>({Filling::kMixed, Filling::kMixed, Filling::kMixed,
                                             Filling::kFixed, Filling::kOneId, Filling::kAllEmpty});
    const auto samples = large ? dice.Between(500, 1100) : dice.Pick<std::int64_t>({1, 2, 7, 8, 33, 70});
    c.batches.push_back(RandomBatch(dice, c.config.model, samples, filling, weighted, dice.Chance(30)));
    for (std::int64_t s = 0; c.config.sample_weights && s < samples; ++s)
      c.batches.back().sample_weights.push_back(dice.Chance(20) ? 0.0F : dice.Uniform(0.1F, 3.0F));
  }
  return c;
}

void ExpectClose(const reference::Tensors& actual, const reference::Tensors& expected) {
  for (const auto& [name, tensor] : actual) {
    EXPECT_EQ(tensor.shape, expected.at(name).shape) << name;
    EXPECT_TRUE(Close(tensor.data, expected.at(name).data, kTolerance)) << "gradient of " << name;
  }
}

// False when it stopped before a step in which a ReLU's side is within rounding.
bool CompareWithReference(const Case& c) {
  const TrainerConfig& config = c.config;
  EngineModel engine(config, c.threads);
  reference::Trainer trainer(config.model, config.dense_optimizer, config.kernel == BackwardKernel::kUnfused,
                             {});
  trainer.set_schedule(config.schedule);
  trainer.set_clip_norm(config.clip_norm);
  trainer.set_gradient_error(kTolerance.of_largest);
  for (std::size_t k = 0; k < c.batches.size(); ++k) {
    SCOPED_TRACE(fmt::format("step {} of {} samples", k, c.batches[k].size));
    trainer.set_parameters(engine.GetParameters());
    const auto expected = trainer.Step(reference::ToReference(c.batches[k]));
    if (expected.relu_margin < kReluMargin) return false;

    const auto gradients = engine.Differentiate(c.batches[k], config.reduction_units);
    EXPECT_TRUE(Close(gradients.dpooled, expected.dpooled, kTolerance)) << "dpooled";
    ExpectClose(gradients.dense, expected.gradients);
    const auto result = engine.Step(c.batches[k]);
    EXPECT_TRUE(Close(result.logits, expected.logits, kTolerance)) << "logits";
    EXPECT_TRUE(Close(std::vector{result.loss}, std::vector{expected.loss}, kTolerance)) << "loss";
    const auto parameters = engine.GetParameters();
    EXPECT_EQ(parameters.size(), trainer.parameters().size());
    for (const auto& [name, tensor] : trainer.parameters()) {
      EXPECT_TRUE(Close(parameters.at(name).data, tensor.data, kTolerance, trainer.state().at(name).doubt))
          << name;
    }
  }
  return true;
}

class EngineProperty : public ::testing::TestWithParam<std::tuple<OptimizerKind, WeightDecayMode>> {};

TEST_P(EngineProperty, EqualsTheReference) {
  const auto [kind, decay] = GetParam();
  constexpr int kCases = 16;
  int compared = 0;
  for (std::uint64_t seed = 0; compared < kCases && !HasFailure(); ++seed) {
    ASSERT_LT(seed, 3 * kCases) << "too few cases were comparable";
    const std::uint64_t salt = static_cast<std::uint64_t>(kind) * 8 + static_cast<std::uint64_t>(decay);
    const Case c = RandomCase(1000 * salt + seed, kind, decay);
    const ModelConfig& model = c.config.model;
    SCOPED_TRACE(fmt::format("seed {}: {}, x {}, {} features, {} tables, {}", seed,
                             ToString(model.interaction), model.InteractionWidth(), model.features.size(),
                             model.tables.size(), reference::Describe(c.config, c.threads)));
    compared += CompareWithReference(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, EngineProperty,
                         ::testing::Combine(::testing::Values(OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                                              OptimizerKind::kRowWiseAdagrad,
                                                              OptimizerKind::kAdam),
                                            ::testing::Values(WeightDecayMode::kNone, WeightDecayMode::kL2,
                                                              WeightDecayMode::kDecoupled)),
                         [](const auto& info) {
                           return ToString(std::get<0>(info.param)) + "_" + ToString(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace hotrow::property
