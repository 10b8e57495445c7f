// The same bits whatever the threads, the kernel (where the maths agree) and the tables' storage; with equal
// reduction units.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/property/random_model.h"
#include "tests/support/engine_model.h"

namespace hotrow::property {
namespace {

using reference::EngineModel;

struct Trace {
  std::vector<std::uint32_t> losses;  // bits
  std::vector<std::uint32_t> logits;  // bits, every step's
  std::uint64_t weights_hash = 0;
  std::uint64_t state_hash = 0;
  bool operator==(const Trace&) const = default;
};

Trace TraceOf(const TrainerConfig& config, int threads, const std::vector<Batch>& batches) {
  EngineModel engine(config, threads);
  Trace trace;
  for (const Batch& batch : batches) {
    const auto result = engine.Step(batch);
    trace.losses.push_back(std::bit_cast<std::uint32_t>(result.loss));
    for (const float logit : result.logits) trace.logits.push_back(std::bit_cast<std::uint32_t>(logit));
  }
  trace.weights_hash = engine.trainer().WeightsHash();
  trace.state_hash = engine.trainer().StateHash();
  return trace;
}

std::vector<Batch> RandomBatches(Dice& dice, const ModelConfig& model) {
  std::vector<Batch> batches;
  const bool weighted = dice.Chance(30);
  for (int k = 0; k < 3; ++k) {
    batches.push_back(RandomBatch(dice, model, dice.Between(1, 70),
                                  dice.Chance(30) ? Filling::kFixed : Filling::kMixed, weighted,
                                  dice.Chance(30)));
  }
  return batches;
}

void ExpectSame(const Trace& trace, const Trace& expected) {
  EXPECT_EQ(trace.losses, expected.losses);
  EXPECT_EQ(trace.logits, expected.logits);
  EXPECT_EQ(trace.weights_hash, expected.weights_hash);
  EXPECT_EQ(trace.state_hash, expected.state_hash);
}

class DeterminismProperty : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(DeterminismProperty, ThreadsKernelsAndStoragesGiveTheSameBits) {
  for (std::uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    Dice dice(100 * static_cast<std::uint64_t>(GetParam()) + seed);
    TrainerConfig base;
    base.model = RandomModel(dice);
    base.bad_ids = BadIds::kSkip;
    base.dense_optimizer = RandomOptimizer(dice, GetParam(), WeightDecayMode::kNone);
    for (EmbeddingTableConfig& table : base.model.tables)
      table.optimizer = RandomOptimizer(dice, GetParam(), WeightDecayMode::kNone);
    base.reduction_units = dice.Pick<std::int64_t>({1, 4, 8});
    base.seed = seed;
    const std::vector<Batch> batches = RandomBatches(dice, base.model);
    const Trace expected = TraceOf(base, 1, batches);
    // Adam without gradient still moves a row, so its unfused kernel is another optimizer.
    const bool kernels_agree = GetParam() != OptimizerKind::kAdam;
    for (const int threads : {1, 2, 3}) {
      for (const auto storage : {StorageKind::kEager, StorageKind::kLazy}) {
        for (const auto kernel : {BackwardKernel::kFused, BackwardKernel::kUnfused}) {
          if (kernel == BackwardKernel::kUnfused && !(kernels_agree && storage == StorageKind::kEager))
            continue;
          TrainerConfig config = base;
          config.storage = storage;
          config.kernel = kernel;
          SCOPED_TRACE(fmt::format("seed {}: {}", seed, reference::Describe(config, threads)));
          ExpectSame(TraceOf(config, threads, batches), expected);
        }
      }
    }
  }
}

// Unfused under Adam or decay moves every row: not the fused bits, but one result for any thread count and
// storage.
TEST_P(DeterminismProperty, DecayAndUnfusedGiveTheSameBitsForAnyThreads) {
  for (const auto decay : {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecoupled}) {
    for (std::uint64_t seed = 0; seed < 4 && !HasFailure(); ++seed) {
      Dice dice(5000 + 100 * static_cast<std::uint64_t>(GetParam()) + seed);
      TrainerConfig config;
      config.model = RandomModel(dice);
      config.bad_ids = BadIds::kSkip;
      SetOptimizer(config.model.tables, RandomOptimizer(dice, GetParam(), decay));
      config.dense_optimizer = RandomOptimizer(dice, GetParam(), decay);
      config.seed = seed;
      const std::vector<Batch> batches = RandomBatches(dice, config.model);
      for (const auto kernel : {BackwardKernel::kFused, BackwardKernel::kUnfused}) {
        config.kernel = kernel;
        config.storage = StorageKind::kEager;
        SCOPED_TRACE(
            fmt::format("{} decay, seed {}: {}", ToString(decay), seed, reference::Describe(config, 1)));
        const Trace expected = TraceOf(config, 1, batches);
        ExpectSame(TraceOf(config, 3, batches), expected);
        if (kernel == BackwardKernel::kUnfused) continue;  // it has no lazy tables
        config.storage = StorageKind::kLazy;
        ExpectSame(TraceOf(config, 1, batches), expected);
        ExpectSame(TraceOf(config, 3, batches), expected);
      }
    }
  }
}

// So many ids of one table that they are sorted in several chunks and buckets, which the random models' never
// are, and both with weights and without.
TEST_P(DeterminismProperty, ManyIdsGiveTheSameBitsForAnyThreadsAndStorage) {
  Dice dice(9000 + static_cast<std::uint64_t>(GetParam()));
  TrainerConfig config;
  config.model.num_dense = 1;
  config.model.dense_arch = {4};
  config.model.over_arch = {3, 1};
  config.model.dcn_num_layers = 1;
  config.model.dcn_low_rank = 2;
  config.model.features = {"a", "b", "c", "d", "e", "f"};
  config.model.tables = {
      {.name = "t", .num_embeddings = 9000, .embedding_dim = 4, .feature_names = config.model.features}};
  config.bad_ids = BadIds::kSkip;
  config.dense_optimizer = RandomOptimizer(dice, GetParam(), WeightDecayMode::kL2);
  SetOptimizer(config.model.tables, config.dense_optimizer);
  std::vector<Batch> batches;
  for (const bool weighted : {false, true}) {
    batches.push_back(RandomBatch(dice, config.model, 3000, Filling::kMixed, weighted, true));
    std::vector<std::int64_t> ids(batches.back().sparse.values().begin(),
                                  batches.back().sparse.values().end());
    ASSERT_GT(ids.size(), 40000U);
    std::ranges::sort(ids);
    ASSERT_GT(std::ranges::unique(ids).begin() - ids.begin(), 8000);
  }
  const Trace expected = TraceOf(config, 1, batches);
  for (const int threads : {1, 2, 3}) {
    for (const auto storage : {StorageKind::kEager, StorageKind::kLazy}) {
      config.storage = storage;
      SCOPED_TRACE(reference::Describe(config, threads));
      ExpectSame(TraceOf(config, threads, batches), expected);
    }
  }
}

// What is compared above must be able to differ.
TEST_P(DeterminismProperty, HashesTellRunsApart) {
  Dice dice(77);
  TrainerConfig config;
  config.model = RandomModel(dice);
  config.bad_ids = BadIds::kSkip;
  config.dense_optimizer = RandomOptimizer(dice, GetParam(), WeightDecayMode::kNone);
  SetOptimizer(config.model.tables, config.dense_optimizer);
  std::vector<Batch> batches = RandomBatches(dice, config.model);
  const Trace expected = TraceOf(config, 1, batches);
  TrainerConfig other_seed = config;
  other_seed.seed = 1;
  EXPECT_NE(TraceOf(other_seed, 1, batches).weights_hash, expected.weights_hash);
  batches.back().labels[0] = 1 - batches.back().labels[0];
  const Trace relabelled = TraceOf(config, 1, batches);
  EXPECT_NE(relabelled.weights_hash, expected.weights_hash);
  if (GetParam() != OptimizerKind::kSgd) {
    EXPECT_NE(relabelled.state_hash, expected.state_hash);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, DeterminismProperty,
                         ::testing::Values(OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                           OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam),
                         [](const auto& info) { return ToString(info.param); });

}  // namespace
}  // namespace hotrow::property
