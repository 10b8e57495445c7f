#pragma once
// What a table must hold after a few steps, and how it is compared.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/embed/backward_cases.h"
#include "tests/embed/reference_backward.h"

namespace hotrow::test {

inline constexpr std::int64_t kSteps = 2;

template <typename T>
TableValues<T> Expected(const BackwardCase& backward, const OptimizerConfig& config, std::int64_t units) {
  ThreadPool pool(1);
  const auto table = backward.MakeTable(config, StorageKind::kEager, pool);
  TableValues<T> values = ReadTable<T>(*table);
  const auto sums = test::ReferenceSums<T>(backward.On(*table), units);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    for (const auto& [row, gradient] : sums) test::ReferenceUpdate<T>(config, step, row, gradient, values);
  }
  return values;
}

inline void ExpectSameBits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)) == 0)
    return;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::memcmp(&actual[i], &expected[i], sizeof(float)), 0)
        << "element " << i << ": " << actual[i] << " and " << expected[i];
  }
}

inline OptimizerConfig MakeConfig(OptimizerKind kind, WeightDecayMode mode) {
  OptimizerConfig config;
  config.kind = kind;
  config.learning_rate = 0.05F;
  config.weight_decay_mode = mode;
  config.weight_decay = mode == WeightDecayMode::kNone ? 0.0F : 0.1F;
  return config;
}

}  // namespace hotrow::test
