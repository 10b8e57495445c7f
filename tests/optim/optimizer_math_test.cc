// The vector arithmetic against the definitions: in double to rounding, in scalar float to the bit, on every
// target.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/optim/optimizer_math_test.cc"
// clang-format off: foreach_target must come before highway.h
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "hotrow/optim/optimizer_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

// count is a multiple of every vector width.
void UpdateAll(const OptimizerConfig& config, std::int64_t step, float* w, const float* g, float* s0,
               float* s1, std::int64_t count) {
  const OptimizerFactors f = MakeOptimizerFactors(config, step);
  const hn::ScalableTag<float> d;
  DispatchOptimizer(config, [&](auto kind, auto decay) {
    float rate = 0.0F;
    if constexpr (kind() == OptimizerKind::kRowWiseAdagrad) rate = RowWiseRate(f, 0.25F, s0);
    for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      const auto weight = hn::Load(d, w + i);
      const auto gradient = hn::Load(d, g + i);
      if constexpr (kind() == OptimizerKind::kRowWiseAdagrad) {
        hn::Store(RowWiseUpdatedWeight<decay()>(d, f, hn::Set(d, rate), weight,
                                                DecayedGradient<decay()>(d, f, weight, gradient)),
                  d, w + i);
      } else {
        auto a = hn::Load(d, s0 + i);
        auto b = hn::Load(d, s1 + i);
        hn::Store(UpdatedWeight<kind(), decay()>(d, f, weight, gradient, a, b), d, w + i);
        hn::Store(a, d, s0 + i);
        hn::Store(b, d, s1 + i);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "hotrow/base/rng.h"
#include "hotrow/machine/buffer.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

HWY_EXPORT(UpdateAll);

// FACTS: the definitions, written a second time, in T.
template <typename T>
void Reference(const OptimizerConfig& c, const OptimizerFactors& f, T& w, T g, T& s0, T& s1, T rate) {
  if (c.weight_decay_mode == WeightDecayMode::kL2) g = g + static_cast<T>(c.weight_decay) * w;
  const T lr = static_cast<T>(c.learning_rate);
  T update = 0;
  switch (c.kind) {
    case OptimizerKind::kSgd:
      update = lr * g;
      break;
    case OptimizerKind::kAdagrad:
      s0 = s0 + g * g;
      update = lr * g / (std::sqrt(s0) + static_cast<T>(c.eps));
      break;
    case OptimizerKind::kRowWiseAdagrad:
      update = rate * g;
      break;
    case OptimizerKind::kAdam:
      s0 = static_cast<T>(f.beta1) * s0 + static_cast<T>(f.beta1_rest) * g;
      s1 = static_cast<T>(f.beta2) * s1 + static_cast<T>(f.beta2_rest) * (g * g);
      update = lr * (s0 * static_cast<T>(f.m_correction)) /
               (std::sqrt(s1 * static_cast<T>(f.v_correction)) + static_cast<T>(c.eps));
      break;
  }
  if (c.weight_decay_mode == WeightDecayMode::kDecoupled) w = static_cast<T>(f.keep) * w;
  w = w - update;
}

constexpr std::int64_t kCount = 256;

struct Elements {
  Buffer<float> w{kCount}, g{kCount}, s0{kCount}, s1{kCount};
  Elements() {
    RandomSequence random(7, RandomStream::kPlanted);
    for (std::int64_t i = 0; i < kCount; ++i) {
      w[i] = static_cast<float>(random.NextNormal());
      g[i] = static_cast<float>(random.NextNormal());
      s0[i] = static_cast<float>(random.NextDouble());
      s1[i] = static_cast<float>(random.NextDouble());
    }
  }
};

class OptimizerMath : public testing::TestWithParam<std::tuple<OptimizerKind, WeightDecayMode>> {};

TEST_P(OptimizerMath, AgreesWithTheDefinitionOnEveryTarget) {
  OptimizerConfig config;
  config.kind = std::get<0>(GetParam());
  config.weight_decay_mode = std::get<1>(GetParam());
  config.weight_decay = config.weight_decay_mode == WeightDecayMode::kNone ? 0.0F : 0.05F;
  const OptimizerFactors f = MakeOptimizerFactors(config, 3);
  test::ForEachSimdTarget([&] {
    const Elements before;
    Elements after;
    HWY_DYNAMIC_DISPATCH(UpdateAll)
    (config, 3, after.w.data(), before.g.data(), after.s0.data(), after.s1.data(), kCount);
    const float h = before.s0[0] + 0.25F;
    const float rate = config.learning_rate / (std::sqrt(h) + config.eps);
    if (config.kind == OptimizerKind::kRowWiseAdagrad) {
      EXPECT_EQ(after.s0[0], h);
    }
    for (std::int64_t i = 0; i < kCount; ++i) {
      float w = before.w[i];
      float s0 = before.s0[i];
      float s1 = before.s1[i];
      Reference<float>(config, f, w, before.g[i], s0, s1, rate);
      ASSERT_EQ(std::memcmp(&w, &after.w[i], sizeof(w)), 0) << i << ": " << w << " and " << after.w[i];
      double w64 = static_cast<double>(before.w[i]);
      double s0_64 = static_cast<double>(before.s0[i]);
      double s1_64 = static_cast<double>(before.s1[i]);
      Reference<double>(config, f, w64, static_cast<double>(before.g[i]), s0_64, s1_64,
                        static_cast<double>(rate));
      ASSERT_NEAR(w64, static_cast<double>(after.w[i]), 1e-6 * (1.0 + std::abs(w64)));
      if (config.kind == OptimizerKind::kRowWiseAdagrad) continue;
      ASSERT_EQ(s0, after.s0[i]);
      ASSERT_EQ(s1, after.s1[i]);
    }
  });
}

TEST(OptimizerMathZero, GradientWithoutDecayChangesNothing) {
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad}) {
    OptimizerConfig config;
    config.kind = kind;
    test::ForEachSimdTarget([&] {
      Elements before;
      Elements after;
      after.s0[0] = before.s0[0] = 0.0F;
      const Buffer<float> zero(kCount);
      HWY_DYNAMIC_DISPATCH(UpdateAll)
      (config, 1, after.w.data(), zero.data(), after.s0.data(), after.s1.data(), kCount);
      const auto bytes = static_cast<std::size_t>(kCount) * sizeof(float);
      EXPECT_EQ(std::memcmp(before.w.data(), after.w.data(), bytes), 0);
      EXPECT_EQ(std::memcmp(before.s0.data(), after.s0.data(), bytes), 0);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerMath,
                         testing::Combine(testing::Values(OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                                          OptimizerKind::kRowWiseAdagrad,
                                                          OptimizerKind::kAdam),
                                          testing::Values(WeightDecayMode::kNone, WeightDecayMode::kL2,
                                                          WeightDecayMode::kDecoupled)),
                         [](const auto& info) {
                           return ToString(std::get<0>(info.param)) + "_" + ToString(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace hotrow
#endif  // HWY_ONCE
