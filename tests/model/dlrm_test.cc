#include "hotrow/model/dlrm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/model/tower_case.h"

namespace hotrow {
namespace {

using test::ExpectMatchesReference;
using test::Floats;
using test::SmallModel;
using test::TowerArrays;
using test::Z;

constexpr reference::Tolerance kTolerance{.relative = 1e-4, .absolute = 1e-6};

Floats GradientBuffer(const Tower& tower) { return Floats(Z(tower.parameters().padded_size()), NAN); }

void ExpectTowerMatchesReference(const ModelConfig& config, std::int64_t rows, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << ToString(config.interaction) << ", " << config.num_features()
                                  << " features of " << config.dense_dim() << ", " << rows << " rows");
  ThreadPool pool(1);
  const auto tower = MakeTower(config, seed, pool);
  TowerArrays arrays(config, rows, seed);
  Floats gradient = GradientBuffer(*tower);
  const auto workspace = tower->MakeWorkspace(rows);
  const double loss = tower->ForwardBackward(arrays.Part(0, rows), gradient, *workspace);
  ExpectMatchesReference(*tower, arrays, loss, gradient, kTolerance);
}

class DlrmTest : public testing::TestWithParam<Interaction> {};
INSTANTIATE_TEST_SUITE_P(Interactions, DlrmTest, testing::Values(Interaction::kCross, Interaction::kDot),
                         [](const auto& suite) { return ToString(suite.param); });

TEST_P(DlrmTest, MatchesTheReference) {
  struct Case {
    std::int64_t features, dim, rows;
  };
  for (const Case& c : {Case{4, 16, 24}, Case{1, 1, 1}, Case{2, 3, 7}, Case{26, 4, 33}, Case{3, 100, 64}}) {
    ExpectTowerMatchesReference(SmallModel(GetParam(), c.features, c.dim), c.rows, 7);
  }
}

TEST_P(DlrmTest, MatchesTheReferenceOverSeveralMicroBatches) {
  ExpectTowerMatchesReference(SmallModel(GetParam(), 3, 8), 2 * DlrmTower::kMicroBatch + 77, 9);
}

TEST_P(DlrmTest, UnusualSizes) {
  ModelConfig config = SmallModel(GetParam(), 3, 6);
  config.num_dense = 0;
  ExpectTowerMatchesReference(config, 5, 11);
  config.num_dense = 33;
  config.dense_arch = {6};
  config.over_arch = {1};
  config.dcn_num_layers = 1;
  ExpectTowerMatchesReference(config, 5, 12);
}

TEST_P(DlrmTest, ForwardGivesTheLogitsOfTraining) {
  const ModelConfig config = SmallModel(GetParam(), 4, 16);
  ThreadPool pool(1);
  const auto tower = MakeTower(config, 1, pool);
  TowerArrays trained(config, 700, 2), predicted(config, 700, 2);
  Floats gradient = GradientBuffer(*tower);
  const auto workspace = tower->MakeWorkspace(700);
  tower->ForwardBackward(trained.Part(0, 700), gradient, *workspace);
  TowerBatch batch = predicted.Part(0, 700);
  batch.labels = nullptr;
  batch.dpooled = {};
  tower->Forward(batch, *workspace);
  EXPECT_EQ(predicted.logits, trained.logits);
}

// Nothing is left for a unit to make, and nothing is made that it does not need.
TEST_P(DlrmTest, PreparingMakesTheProductsOfAUnit) {
  constexpr std::int64_t kMicro = DlrmTower::kMicroBatch;
  const ModelConfig config = SmallModel(GetParam(), 2, 4);
  ThreadPool pool(1);
  const auto tower = MakeTower(config, 1, pool);
  TowerArrays arrays(config, 3 * kMicro, 2);
  Floats gradient = GradientBuffer(*tower);
  for (const std::int64_t rows :
       {std::int64_t{1}, kMicro - 1, kMicro, kMicro + 1, 2 * kMicro, 3 * kMicro - 1}) {
    SCOPED_TRACE(rows);
    for (const bool backward : {false, true}) {
      const auto run = [&](TowerWorkspace& workspace) {
        if (backward) {
          tower->ForwardBackward(arrays.Part(0, rows), gradient, workspace);
        } else {
          tower->Forward(arrays.Part(0, rows), workspace);
        }
        return workspace.products_made();
      };
      const auto unprepared = tower->MakeWorkspace(rows);
      const auto prepared = tower->MakeWorkspace(rows);
      EXPECT_EQ(prepared->products_made(), 0);
      prepared->Prepare(rows, backward);
      const std::int64_t made = prepared->products_made();
      EXPECT_GT(made, 0);
      EXPECT_EQ(run(*unprepared), made);
      EXPECT_EQ(run(*prepared), made);
    }
  }
}

// A unit's bits depend on its rows alone: not on the thread, the workspace, what the workspace did before, or
// what other threads do meanwhile.
TEST_P(DlrmTest, UnitsAreBitEqualOnAnyThread) {
  const ModelConfig config = SmallModel(GetParam(), 5, 16);
  constexpr std::int64_t kUnits = 8, kRows = 803;
  struct Result {
    std::vector<Floats> gradients;
    std::vector<double> losses;
    Floats dpooled, logits;
    bool operator==(const Result&) const = default;
  };
  const auto run = [&](int threads) {
    ThreadPool pool(threads);
    const auto tower = MakeTower(config, 3, pool);
    TowerArrays arrays(config, kRows, 4);
    std::vector<std::unique_ptr<TowerWorkspace>> workspaces;
    for (int t = 0; t < threads; ++t) workspaces.push_back(tower->MakeWorkspace(kRows));
    Result result;
    result.gradients.assign(kUnits, GradientBuffer(*tower));
    result.losses.resize(kUnits);
    for (int repetition = 0; repetition < 2; ++repetition) {
      pool.Run(kUnits, [&](std::int64_t unit, int thread) {
        const Slice rows = EvenSlice(kRows, kUnits, unit);
        result.losses[Z(unit)] = tower->ForwardBackward(arrays.Part(rows.begin, rows.size()),
                                                        result.gradients[Z(unit)], *workspaces[Z(thread)]);
      });
    }
    result.dpooled = arrays.dpooled;
    result.logits = arrays.logits;
    return result;
  };
  const Result one = run(1);
  EXPECT_EQ(run(2), one);
  EXPECT_EQ(run(3), one);
}

TEST_P(DlrmTest, EmptyUnitHasAZeroGradient) {
  const ModelConfig config = SmallModel(GetParam(), 2, 4);
  ThreadPool pool(1);
  const auto tower = MakeTower(config, 1, pool);
  TowerArrays arrays(config, 0, 1);
  Floats gradient = GradientBuffer(*tower);
  const auto workspace = tower->MakeWorkspace(4);
  EXPECT_EQ(tower->ForwardBackward(arrays.Part(0, 0), gradient, *workspace), 0.0);
  EXPECT_EQ(gradient, Floats(gradient.size()));
}

TEST_P(DlrmTest, PaddingHasNoGradient) {
  const ModelConfig config = SmallModel(GetParam(), 3, 5);
  ThreadPool pool(1);
  const auto tower = MakeTower(config, 1, pool);
  TowerArrays arrays(config, 9, 1);
  Floats gradient = GradientBuffer(*tower);
  const auto workspace = tower->MakeWorkspace(9);
  tower->ForwardBackward(arrays.Part(0, 9), gradient, *workspace);
  Floats cleaned = gradient;
  tower->parameters().ZeroPadding(cleaned.data());
  EXPECT_EQ(gradient, cleaned);
}

ModelConfig MlperfModel(Interaction interaction) {
  ModelConfig config = SmallModel(interaction, 26, 128);
  const ModelConfig defaults;
  config.dense_arch = defaults.dense_arch;
  config.over_arch = defaults.over_arch;
  config.dcn_num_layers = defaults.dcn_num_layers;
  config.dcn_low_rank = defaults.dcn_low_rank;
  return config;
}

TEST(DlrmSizesTest, MlperfModelHasItsParameters) {
  DlrmTower tower(MlperfModel(Interaction::kCross));
  std::int64_t parameters = 0;
  for (const Parameter& parameter : tower.parameters().list()) parameters += parameter.size();
  EXPECT_EQ(parameters, 16044545);
  double flop = 0.0;
  for (const Linear* layer : tower.linears()) flop += layer->ForwardSpec(1).flop();
  EXPECT_NEAR(flop, 32.06e6, 0.03e6);
}

TEST(DlrmSizesTest, MlperfModelMatchesTheReference) {
  ExpectTowerMatchesReference(MlperfModel(Interaction::kCross), 5, 21);
  ExpectTowerMatchesReference(MlperfModel(Interaction::kDot), 5, 22);
}

TEST(DlrmInitTest, BoundsSpreadAndThreads) {
  const ModelConfig config = MlperfModel(Interaction::kCross);
  ThreadPool one(1), two(2);
  DlrmTower a(config), b(config), other_seed(config);
  a.Initialize(5, one);
  b.Initialize(5, two);
  other_seed.Initialize(6, two);
  const Parameters& p = a.parameters();
  EXPECT_EQ(p.Hash(p.weights()), b.parameters().Hash(b.parameters().weights()));
  EXPECT_NE(p.Hash(p.weights()), other_seed.parameters().Hash(other_seed.parameters().weights()));
  for (std::size_t i = 0; i < p.list().size(); ++i) {
    const Parameter& parameter = p.list()[i];
    const std::span<const float> w(p.weights(static_cast<std::int64_t>(i)), Z(parameter.size()));
    double square = 0.0, largest = 0.0;
    for (const float value : w) {
      square += double{value} * value;
      largest = std::max(largest, std::fabs(double{value}));
    }
    const double deviation = std::sqrt(square / static_cast<double>(w.size()));
    if (parameter.name.find("crossnet.bias") != std::string::npos) {
      EXPECT_EQ(largest, 0.0) << parameter.name;
    } else if (parameter.name.find("_kernels") != std::string::npos) {
      EXPECT_NEAR(deviation, std::sqrt(2.0 / (3456 + 512)), 1e-4) << parameter.name;
    } else if (parameter.size() > 1000) {
      const double bound = 1.0 / std::sqrt(static_cast<double>(parameter.rows));
      if (!parameter.vector) {
        EXPECT_LE(largest, static_cast<float>(bound)) << parameter.name;
        EXPECT_NEAR(deviation, bound / std::sqrt(3.0), 0.05 * bound) << parameter.name;
      }
    }
  }
}

}  // namespace
}  // namespace hotrow
