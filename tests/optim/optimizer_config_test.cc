#include "hotrow/optim/optimizer_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "hotrow/base/error.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(OptimizerConfig, NamesRoundTrip) {
  for (const char* name : {"sgd", "adagrad", "rowwise_adagrad", "adam"}) {
    EXPECT_EQ(ToString(ParseOptimizerKind(name)), name);
  }
  for (const char* name : {"none", "l2", "decoupled"}) EXPECT_EQ(ToString(ParseWeightDecayMode(name)), name);
  EXPECT_THAT([] { ParseOptimizerKind("lamb"); },
              ThrowsMessage<Error>(HasSubstr("'lamb', must be one of: sgd, adagrad, rowwise_adagrad, adam")));
  EXPECT_THAT([] { ParseWeightDecayMode("l1"); },
              ThrowsMessage<Error>(HasSubstr("'l1', must be one of: none, l2, decoupled")));
}

TEST(OptimizerConfig, StateWidths) {
  EXPECT_EQ(StateWidth(OptimizerKind::kSgd, 100), 0);
  EXPECT_EQ(StateWidth(OptimizerKind::kAdagrad, 100), 100);
  EXPECT_EQ(StateWidth(OptimizerKind::kRowWiseAdagrad, 100), 1);
  EXPECT_EQ(StateWidth(OptimizerKind::kAdam, 100), 200);
}

TEST(OptimizerConfig, RefusesWhatIsOutOfRange) {
  const auto message_of = [](auto change) {
    OptimizerConfig config;
    change(config);
    try {
      Validate(config);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message_of([](OptimizerConfig&) {}), "");
  EXPECT_THAT(message_of([](OptimizerConfig& c) { c.learning_rate = -1.0F; }),
              HasSubstr("learning_rate is -1"));
  EXPECT_THAT(message_of([](OptimizerConfig& c) { c.eps = std::numeric_limits<float>::quiet_NaN(); }),
              HasSubstr("eps is nan"));
  EXPECT_THAT(message_of([](OptimizerConfig& c) { c.beta1 = 1.0F; }), HasSubstr("beta1 is 1"));
  EXPECT_THAT(message_of([](OptimizerConfig& c) { c.beta2 = -0.5F; }), HasSubstr("beta2 is -0.5"));
  EXPECT_THAT(message_of([](OptimizerConfig& c) { c.weight_decay = 0.5F; }),
              HasSubstr("weight_decay_mode is none"));
  EXPECT_THAT(message_of([](OptimizerConfig& c) { c.weight_decay_mode = WeightDecayMode::kL2; }),
              HasSubstr("weight_decay is 0"));
}

TEST(OptimizerFactors, BiasCorrectionOfTheStep) {
  OptimizerConfig config;
  config.kind = OptimizerKind::kAdam;
  EXPECT_EQ(MakeOptimizerFactors(config, 1).m_correction,
            static_cast<float>(1.0 / (1.0 - static_cast<double>(config.beta1))));
  EXPECT_FLOAT_EQ(MakeOptimizerFactors(config, 3).v_correction,
                  static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(config.beta2), 3.0))));
  EXPECT_EQ(MakeOptimizerFactors(config, 1000000).v_correction, 1.0F);
}

}  // namespace
}  // namespace hotrow
