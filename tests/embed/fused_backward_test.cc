#include "hotrow/embed/fused_backward.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/embed/backward_cases.h"
#include "tests/embed/expected_tables.h"
#include "tests/embed/reference_backward.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

using test::BackwardCase;
using test::BackwardShapes;
using test::Expected;
using test::ExpectSameBits;
using test::kSteps;
using test::MakeConfig;
using test::ReadTable;
using test::TableValues;

const OptimizerConfig kSgd = {.kind = OptimizerKind::kSgd, .learning_rate = 1.0F};

// One shape and width: every target, several thread counts, both storages.
void Check(const BackwardCase& backward, const OptimizerConfig& config, std::int64_t units,
           std::vector<ThreadPool*> pools) {
  const TableValues<float> expected = Expected<float>(backward, config, units);
  const TableValues<double> exact = Expected<double>(backward, config, units);
  for (std::size_t i = 0; i < exact.weights.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(expected.weights[i]), exact.weights[i],
                2e-5 * (1.0 + std::abs(exact.weights[i])));
  }
  test::ForEachSimdTarget([&] {
    FusedBackward fused;  // its scratch serves all runs
    for (ThreadPool* pool : pools) {
      for (const StorageKind storage : {StorageKind::kEager, StorageKind::kLazy}) {
        SCOPED_TRACE(std::to_string(pool->size()) + " threads, " + ToString(storage));
        const auto table = backward.MakeTable(config, storage, *pool);
        const BagGradients input = backward.On(*table);
        for (std::int64_t step = 1; step <= kSteps; ++step) fused.Run({&input, 1}, step, units, *pool);
        const TableValues<float> actual = ReadTable<float>(*table);
        ExpectSameBits(actual.weights, expected.weights);
        ExpectSameBits(actual.state, expected.state);
      }
    }
  });
}

TEST(FusedBackward, EveryOptimizerAndWidth) {
  ThreadPool two(2);
  std::uint64_t seed = 100;
  const auto shapes = BackwardShapes()[0].second;
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
    for (const WeightDecayMode mode :
         {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecoupled}) {
      for (const std::int64_t dim : {1, 2, 3, 7, 16, 30, 100, 128, 300}) {
        SCOPED_TRACE(ToString(kind) + ", " + ToString(mode) + ", dim " + std::to_string(dim));
        Check(BackwardCase(shapes, dim, PoolingType::kSum, ++seed), MakeConfig(kind, mode), 8, {&two});
      }
    }
  }
}

TEST(FusedBackward, EveryShapeThreadCountAndUnits) {
  ThreadPool one(1);
  ThreadPool two(2);
  ThreadPool three(3);
  std::uint64_t seed = 0;
  for (const auto& [name, shapes] : BackwardShapes()) {
    for (const PoolingType pooling : {PoolingType::kSum, PoolingType::kMean}) {
      for (const std::int64_t units : {1, 8, 32}) {
        if (shapes[0].samples > 1000 && units != 8) continue;
        SCOPED_TRACE(name + ", units " + std::to_string(units));
        const std::int64_t dim = shapes[0].samples > 1000 ? 4 : 20;
        Check(BackwardCase(shapes, dim, pooling, ++seed),
              MakeConfig(OptimizerKind::kAdagrad, WeightDecayMode::kNone), units, {&one, &two, &three});
      }
    }
  }
}

// Values whose sum tells in which order they were added: 2^24 swallows a 1 that comes alone.
TEST(FusedBackward, UnitsAreCombinedByTheTree) {
  ThreadPool pool(1);
  constexpr float kBig = 16777216.0F;
  struct Case {
    std::vector<float> gradients;  // of 8 samples, each with one id of row 0
    std::int64_t units;
    float sum;
  };
  const std::vector<Case> cases = {
      {{kBig, 1, 1, 1, 1, 1, 1, 1}, 1, kBig},      // in order: each 1 is lost
      {{1, 1, 1, 1, 1, 1, 1, kBig}, 1, kBig + 8},  // 7 + 2^24 rounds to even
      {{kBig, 1, 1, 1, 1, 1, 1, 1}, 8, kBig + 6},  // ((B+1)+(1+1)) + ((1+1)+(1+1))
      {{kBig, 1, 1, 1, 1, 1, 1, 1}, 2, kBig + 4},  // (B+1+1+1) + (1+1+1+1)
      {{1, kBig, -kBig, 1, 0, 0, 0, 0}, 1, 1},     // ((1+B)-B)+1
      {{1, kBig, 1, -kBig, 1, 0, 0, 0}, 8, 2},     // ((1+B) + (1-B)) + 1; pairs swapped 3, in order 1
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::to_string(c.gradients[0]) + " in " + std::to_string(c.units) + " units");
    EmbeddingTable table({"t", 1, 1, PoolingType::kSum, {}, kSgd}, {}, StorageKind::kEager, 0, 0, pool);
    const float zero = 0.0F;
    table.WriteRows(0, 1, &zero);
    const std::vector<std::int64_t> ids(8, 0);
    BagGradients input{&table, {{}}};
    input.features[0].bags.ids = ids;
    input.features[0].bags.fixed_size = 1;
    input.features[0].bags.samples = 8;
    input.features[0].gradient = c.gradients.data();
    input.features[0].stride = 1;
    FusedBackward().Run({&input, 1}, 1, c.units, pool);
    float weight = 0.0F;
    table.ReadRows(0, 1, &weight);
    EXPECT_EQ(-weight, c.sum);
  }
}

TEST(FusedBackward, SeveralTablesInOneRun) {
  ThreadPool pool(3);
  const OptimizerConfig config = MakeConfig(OptimizerKind::kAdagrad, WeightDecayMode::kNone);
  std::vector<BackwardCase> cases;
  cases.emplace_back(std::vector<test::BagShape>{{.samples = 900, .rows = 50, .largest = 30}}, 8,
                     PoolingType::kSum, 1);
  cases.emplace_back(std::vector<test::BagShape>{{.samples = 900, .rows = 5, .largest = 0}}, 3,
                     PoolingType::kSum, 2);
  cases.emplace_back(std::vector<test::BagShape>{{.samples = 900, .rows = 7000, .largest = 9}}, 16,
                     PoolingType::kMean, 3);
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  std::vector<BagGradients> inputs;
  for (const BackwardCase& c : cases) {
    tables.push_back(c.MakeTable(config, tables.empty() ? StorageKind::kLazy : StorageKind::kEager, pool));
    inputs.push_back(c.On(*tables.back()));
  }
  FusedBackward fused;
  for (std::int64_t step = 1; step <= kSteps; ++step) fused.Run(inputs, step, 4, pool);
  for (std::size_t t = 0; t < cases.size(); ++t) {
    SCOPED_TRACE("table " + std::to_string(t));
    ExpectSameBits(ReadTable<float>(*tables[t]).weights, Expected<float>(cases[t], config, 4).weights);
  }
}

TEST(FusedBackward, RowsBeyondTwoToThe31stElementAndThe32ndRow) {
  ThreadPool pool(2);
  constexpr std::int64_t kRows = (std::int64_t{1} << 32) + 1000;  // keys need a bucket bit to fit 32
  EmbeddingTable table({"t", kRows, 4, PoolingType::kSum, {}, kSgd}, {}, StorageKind::kLazy, 0, 0, pool);
  const std::vector<std::int64_t> ids = {kRows - 1, 5, (std::int64_t{1} << 31) + 7, kRows - 1, kRows - 2};
  const std::vector<float> gradient = {1, 2, 3, 4};
  BagGradients input{&table, {{}}};
  input.features[0].bags.ids = ids;
  input.features[0].bags.fixed_size = 5;
  input.features[0].bags.samples = 1;
  input.features[0].gradient = gradient.data();
  input.features[0].stride = 4;
  FusedBackward().Run({&input, 1}, 1, 8, pool);
  for (const std::int64_t row : ids) {
    std::vector<float> weights(4);
    std::vector<float> initial(4);
    table.ReadRows(row, 1, weights.data());
    table.InitialRow(row, initial.data());
    const float times = row == kRows - 1 ? 2.0F : 1.0F;
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(weights[c], initial[c] - times * gradient[c]) << row;
  }
  std::vector<float> untouched(4);
  std::vector<float> initial(4);
  table.ReadRows(kRows - 3, 1, untouched.data());
  table.InitialRow(kRows - 3, initial.data());
  EXPECT_EQ(untouched, initial);
}

}  // namespace
}  // namespace hotrow
