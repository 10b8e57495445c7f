#include "hotrow/embed/unfused_backward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hotrow/base/error.h"
#include "hotrow/embed/fused_backward.h"
#include "tests/embed/backward_cases.h"
#include "tests/embed/expected_tables.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

using test::BackwardCase;
using test::ExpectSameBits;
using test::kSteps;
using test::MakeConfig;
using test::ReadTable;
using test::TableValues;

// Every row is updated, with a zero gradient where no bag touched it.
TableValues<float> ExpectedOfAllRows(const BackwardCase& backward, const OptimizerConfig& config,
                                     std::int64_t units) {
  ThreadPool pool(1);
  const auto table = backward.MakeTable(config, StorageKind::kEager, pool);
  TableValues<float> values = ReadTable<float>(*table);
  const auto sums = test::ReferenceSums<float>(backward.On(*table), units);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    for (std::int64_t row = 0; row < table->rows(); ++row) {
      const auto found = sums.find(row);
      const std::vector<float> zero(static_cast<std::size_t>(table->dim()));
      test::ReferenceUpdate<float>(config, step, row, found == sums.end() ? zero : found->second, values);
    }
  }
  return values;
}

TEST(UnfusedBackward, UpdatesEveryRowOnEveryTarget) {
  ThreadPool one(1);
  ThreadPool three(3);
  std::uint64_t seed = 500;
  for (const auto& [name, shapes] : test::BackwardShapes()) {
    for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                     OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
      for (const WeightDecayMode mode :
           {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecoupled}) {
        if (shapes[0].rows > 1000 && mode != WeightDecayMode::kNone) continue;
        SCOPED_TRACE(name + ", " + ToString(kind) + ", " + ToString(mode));
        const BackwardCase backward(shapes, 5, PoolingType::kSum, ++seed);
        const OptimizerConfig config = MakeConfig(kind, mode);
        const TableValues<float> expected = ExpectedOfAllRows(backward, config, 8);
        test::ForEachSimdTarget([&] {
          UnfusedBackward unfused;
          ThreadPool& pool = seed % 2 == 0 ? one : three;
          const auto table = backward.MakeTable(config, StorageKind::kEager, pool);
          const BagGradients input = backward.On(*table);
          for (std::int64_t step = 1; step <= kSteps; ++step) unfused.Run({&input, 1}, step, 8, pool);
          const TableValues<float> actual = ReadTable<float>(*table);
          ExpectSameBits(actual.weights, expected.weights);
          ExpectSameBits(actual.state, expected.state);
        });
      }
    }
  }
}

TEST(UnfusedBackward, EqualsFusedWhereZeroGradientsChangeNothing) {
  ThreadPool pool(2);
  const BackwardCase backward(test::BackwardShapes().back().second, 12, PoolingType::kMean, 3);
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad}) {
    const OptimizerConfig config = MakeConfig(kind, WeightDecayMode::kNone);
    const auto a = backward.MakeTable(config, StorageKind::kEager, pool);
    const auto b = backward.MakeTable(config, StorageKind::kEager, pool);
    const BagGradients input_a = backward.On(*a);
    const BagGradients input_b = backward.On(*b);
    FusedBackward fused;
    UnfusedBackward unfused;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      fused.Run({&input_a, 1}, step, 8, pool);
      unfused.Run({&input_b, 1}, step, 8, pool);
    }
    ExpectSameBits(ReadTable<float>(*a).weights, ReadTable<float>(*b).weights);
    ExpectSameBits(ReadTable<float>(*a).state, ReadTable<float>(*b).state);
  }
}

TEST(UnfusedBackward, RefusesLazyTables) {
  ThreadPool pool(1);
  const BackwardCase backward(test::BackwardShapes()[0].second, 4, PoolingType::kSum, 1);
  const auto table = backward.MakeTable({.kind = OptimizerKind::kSgd}, StorageKind::kLazy, pool);
  const BagGradients input = backward.On(*table);
  EXPECT_THAT(
      [&] {
        UnfusedBackward().Run({&input, 1}, 1, 8, pool);
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("table 't': the unfused kernel")));
}

}  // namespace
}  // namespace hotrow
