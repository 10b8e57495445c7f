#include "hotrow/optim/learning_rate_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "hotrow/base/error.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void ExpectFactors(const LearningRateSchedule& schedule,
                   std::initializer_list<std::pair<std::int64_t, double>> factors) {
  Validate(schedule);
  for (const auto& [step, factor] : factors) EXPECT_DOUBLE_EQ(RateFactor(schedule, step), factor) << step;
}

TEST(LearningRateSchedule, ConstantIsOneBehindItsWarmUp) {
  ExpectFactors({}, {{1, 1.0}, {2, 1.0}, {1'000'000'000'000, 1.0}});
  ExpectFactors({.warmup_steps = 1}, {{1, 1.0}});
  ExpectFactors({.warmup_steps = 4}, {{1, 0.25}, {2, 0.5}, {3, 0.75}, {4, 1.0}, {5, 1.0}});
}

// MLPerf's DLRM reference: (1 - (s - S) / D)^2.
TEST(LearningRateSchedule, PolyDecaysByTheSquare) {
  const LearningRateSchedule schedule{
      .kind = ScheduleKind::kPoly, .warmup_steps = 4, .decay_start = 10, .decay_steps = 5, .floor = 0.05};
  ExpectFactors(schedule, {{1, 0.25},
                           {3, 0.75},
                           {4, 1.0},
                           {10, 1.0},
                           {11, 0.8 * 0.8},
                           {12, 0.6 * 0.6},
                           {13, 0.4 * 0.4},
                           {14, 0.05},  // 0.2^2 = 0.04
                           {15, 0.05},
                           {16, 0.05},
                           {1000, 0.05}});
  // A decay without a start follows the warm-up, or the first step.
  ExpectFactors({.kind = ScheduleKind::kPoly, .warmup_steps = 2, .decay_steps = 2},
                {{1, 0.5}, {2, 1.0}, {3, 0.25}, {4, 0.0}, {5, 0.0}});
  ExpectFactors({.kind = ScheduleKind::kPoly, .decay_steps = 2}, {{1, 0.25}, {2, 0.0}});
}

TEST(LearningRateSchedule, CosineIsHalfAWave) {
  const LearningRateSchedule schedule{
      .kind = ScheduleKind::kCosine, .warmup_steps = 2, .decay_start = 4, .decay_steps = 4, .floor = 0.2};
  const double half_root = std::sqrt(0.5);
  ExpectFactors(schedule, {{1, 0.5},
                           {2, 1.0},
                           {4, 1.0},
                           {5, 0.2 + 0.8 * (1 + half_root) / 2},
                           {6, 0.6},
                           {7, 0.2 + 0.8 * (1 - half_root) / 2},
                           {8, 0.2},
                           {9, 0.2}});
}

TEST(LearningRateSchedule, RefusesWhatMeansNothing) {
  const auto message = [](LearningRateSchedule schedule) {
    return std::function([schedule] { Validate(schedule); });
  };
  EXPECT_THAT(message({.warmup_steps = -1}), ThrowsMessage<Error>(HasSubstr("warmup_steps is -1")));
  EXPECT_THAT(message({.decay_steps = 5}), ThrowsMessage<Error>(HasSubstr("constant has no decay_steps")));
  EXPECT_THAT(message({.decay_start = 5}), ThrowsMessage<Error>(HasSubstr("constant has no decay_start")));
  EXPECT_THAT(message({.floor = 0.5}), ThrowsMessage<Error>(HasSubstr("constant has no floor")));
  EXPECT_THAT(message({.kind = ScheduleKind::kPoly}), ThrowsMessage<Error>(HasSubstr("needs decay_steps")));
  EXPECT_THAT(message({.kind = ScheduleKind::kPoly, .warmup_steps = 9, .decay_start = 8, .decay_steps = 1}),
              ThrowsMessage<Error>(HasSubstr("inside the 9 steps of the warm-up")));
  for (const double floor : {-0.1, 1.5, std::nan("")})
    EXPECT_THAT(message({.kind = ScheduleKind::kCosine, .decay_steps = 1, .floor = floor}),
                ThrowsMessage<Error>(HasSubstr("must be in [0, 1]")));
  EXPECT_THAT([] { ParseScheduleKind("linear"); },
              ThrowsMessage<Error>(HasSubstr("'linear', must be one of: constant, poly, cosine")));
  for (const char* name : {"constant", "poly", "cosine"}) EXPECT_EQ(ToString(ParseScheduleKind(name)), name);
}

TEST(OptimizerStep, AFactorScalesTheRateAndWhatDecayKeeps) {
  const OptimizerConfig config{
      .learning_rate = 0.5F, .weight_decay = 0.25F, .weight_decay_mode = WeightDecayMode::kDecoupled};
  const OptimizerFactors whole = MakeOptimizerFactors(config, 3);
  const OptimizerFactors half = MakeOptimizerFactors(config, {3, 0.5});
  EXPECT_EQ(whole.learning_rate, 0.5F);
  EXPECT_EQ(whole.keep, 1.0F - 0.125F);
  EXPECT_EQ(half.learning_rate, 0.25F);
  EXPECT_EQ(half.keep, 1.0F - 0.0625F);
  EXPECT_EQ(half.v_correction, whole.v_correction);
}

}  // namespace
}  // namespace hotrow
