// What does nothing is refused or told; what does something is not.

#include "hotrow/run/no_effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TrainerConfig Config(const OptimizerConfig& optimizer) {
  TrainerConfig config;
  config.model.dense_arch = {4};
  config.model.over_arch = {1};
  config.model.features = {"f"};
  config.model.tables = {{.name = "t_f",
                          .num_embeddings = 100,
                          .embedding_dim = 4,
                          .feature_names = {"f"},
                          .optimizer = optimizer}};
  return config;
}

OptimizerConfig Decay(float rate, float decay, WeightDecayMode mode) {
  return {
      .kind = OptimizerKind::kSgd, .learning_rate = rate, .weight_decay = decay, .weight_decay_mode = mode};
}

TEST(NoEffect, OrdinarySettingsHaveOne) {
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
    EXPECT_THAT(CheckEffects(Config({.kind = kind}), 100), IsEmpty());
  }
  EXPECT_THAT(CheckEffects(Config(Decay(0.01F, 1e-4F, WeightDecayMode::kDecoupled)), {}), IsEmpty());
  EXPECT_THAT(CheckEffects(Config(Decay(0.01F, 1e-4F, WeightDecayMode::kL2)), {}), IsEmpty());
}

// 1 - x is 1 in fp32 up to x = 2^-25, which is a tie.
TEST(NoEffect, ADecayThatRoundsAwayIsRefused) {
  EXPECT_THAT(
      [] { CheckEffects(Config(Decay(0.01F, 1e-6F, WeightDecayMode::kDecoupled)), {}); },
      ThrowsMessage<Error>(HasSubstr("weight decay 1e-06 of table 't_f': nothing decays: decoupled, it "
                                     "multiplies weights by 1 - learning rate 0.01 x 1e-06, which is 1")));
  EXPECT_THAT([] { CheckEffects(Config(Decay(1.0F, 0x1.0p-25F, WeightDecayMode::kDecoupled)), {}); },
              ThrowsMessage<Error>(HasSubstr("nothing decays")));
  EXPECT_THAT(CheckEffects(Config(Decay(1.0F, 0x1.1p-25F, WeightDecayMode::kDecoupled)), {}), IsEmpty());
  TrainerConfig dense = Config({});
  dense.dense_optimizer = Decay(0.01F, 1e-6F, WeightDecayMode::kDecoupled);
  EXPECT_THAT([&] { CheckEffects(dense, {}); }, ThrowsMessage<Error>(HasSubstr("of the dense parameters")));
}

TEST(NoEffect, ALearningRateOfZeroIsToldAndOfAllIsRefused) {
  TrainerConfig config = Config({.learning_rate = 0});
  EXPECT_THAT(CheckEffects(config, {}), ElementsAre(HasSubstr("table 't_f': the learning rate is 0")));
  config.dense_optimizer.learning_rate = 0;
  EXPECT_THAT([&] { CheckEffects(config, {}); }, ThrowsMessage<Error>(HasSubstr("nothing would be trained")));
}

TEST(NoEffect, StepsTooSmallForTheWeightsAreTold) {
  // The weights start in +-0.1, half a unit in whose last place is 3.7e-9.
  const auto told = [](OptimizerKind kind, float rate) {
    return !CheckEffects(Config({.kind = kind, .learning_rate = rate}), {}).empty();
  };
  EXPECT_TRUE(told(OptimizerKind::kAdagrad, 1e-9F));
  EXPECT_FALSE(told(OptimizerKind::kAdagrad, 1e-8F));
  EXPECT_FALSE(told(OptimizerKind::kSgd, 1e-9F)) << "a gradient may be large";
  TrainerConfig zeros = Config({.learning_rate = 1e-9F});
  zeros.model.tables[0].init = {.kind = InitKind::kZeros};
  EXPECT_THAT(CheckEffects(zeros, {}), IsEmpty()) << "from 0 any step leads away";
}

TEST(NoEffect, AnEpsAboveGradientsAndADecayBelowAWeightAreTold) {
  EXPECT_THAT(CheckEffects(Config({.eps = 1}), {}), ElementsAre(HasSubstr("eps 1 is more than gradients")));
  EXPECT_THAT(CheckEffects(Config({.eps = 0.1F}), {}), IsEmpty());
  EXPECT_THAT(CheckEffects(Config({.kind = OptimizerKind::kSgd, .eps = 1}), {}), IsEmpty());
  EXPECT_THAT(CheckEffects(Config(Decay(0.01F, 1e-6F, WeightDecayMode::kL2)), {}),
              ElementsAre(HasSubstr("too little to move an fp32 weight")));
}

TEST(NoEffect, StepsAfterTheRateHasFallenToZeroAreTold) {
  TrainerConfig config = Config({});
  config.schedule = {.kind = ScheduleKind::kPoly, .decay_start = 10, .decay_steps = 20};
  EXPECT_THAT(CheckEffects(config, 31), ElementsAre(HasSubstr("the rate is 0 from step 30 on")));
  EXPECT_THAT(CheckEffects(config, 30), IsEmpty());
  EXPECT_THAT(CheckEffects(config, {}), IsEmpty());
  config.schedule.floor = 0.1;
  EXPECT_THAT(CheckEffects(config, 31), IsEmpty());
}

}  // namespace
}  // namespace hotrow
