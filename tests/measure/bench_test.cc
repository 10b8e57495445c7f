// The parts of `hotrow bench` as the library runs them, on thread ranks: same bits whatever is measured
// beside, the limits and ratios, the bytes between ranks, and the check against the reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hotrow/measure/bench_report.h"
#include "tests/train/over_ranks.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kIdsPerSample = 2 + 1 + 5 + 1;

BenchConfig SmallBench(std::int64_t per_chip_batch, bool limits) {
  BenchConfig config;
  config.data = SmallData(std::nullopt);
  config.per_chip_batch = per_chip_batch;
  config.trainer = SmallTrainer(SyntheticSource(config.data).description());
  config.steps = 3;
  config.warmup = 2;
  config.limits = limits;
  config.cardinality = "50,3,400,1";
  config.sharding = "table_wise";
  return config;
}

// Rank 0's result of `part`(config, comm, pool) on thread ranks.
template <typename Part>
auto OnThreadRanks(int ranks, BenchConfig config, PlanKind kind, Part part) {
  config.trainer.plan = PlanOf(kind, config.trainer.model, ranks);
  decltype(part(config, std::declval<Communicator&>(), std::declval<ThreadPool&>())) result;
  OnRanks(ranks, [&](Communicator& comm) {
    ThreadPool pool(1);
    auto mine = part(config, comm, pool);
    if (comm.rank() == 0) result = std::move(mine);
  });
  return result;
}

StepResult StepOn(int ranks, const BenchConfig& config, PlanKind kind = PlanKind::kTableWise) {
  return OnThreadRanks(ranks, config, kind,
                       [](const auto& bench, auto& comm, auto& pool) { return RunStep(bench, comm, pool); });
}
SparseResult SparseOn(int ranks, const BenchConfig& config, PlanKind kind = PlanKind::kTableWise) {
  return OnThreadRanks(ranks, config, kind, [](const auto& bench, auto& comm, auto& pool) {
    return RunSparse(bench, comm, pool);
  });
}

void ExpectSameBits(const StepResult& got, const StepResult& want) {
  EXPECT_EQ(got.losses, want.losses);
  EXPECT_EQ(got.weights_hash, want.weights_hash);
  EXPECT_EQ(got.state_hash, want.state_hash);
}

TEST(StepBenchmark, LimitsAreMeasuredOrLeftOutAndChangeNoBit) {
  const StepResult with = StepOn(1, SmallBench(40, true));
  const StepResult without = StepOn(1, SmallBench(40, false));
  ASSERT_EQ(with.losses.size(), 5U) << "warm-up included";
  ASSERT_TRUE(with.weights_hash.has_value());
  ExpectSameBits(without, with);

  const auto limits = ToJson(with)["limits"];
  for (const char* key : {"gemm_samples_per_s", "gather_rows_per_s", "update_rows_per_s"})
    EXPECT_GT(limits[key], 0) << key;
  EXPECT_EQ(ToJson(without)["limits"], nlohmann::ordered_json::object());
  EXPECT_THAT(ToText(with), HasSubstr("\nlimit: the step's GEMMs alone "));
  EXPECT_THAT(ToText(without), Not(HasSubstr("limit")));
  for (const char* key : {"tower_to_gemm", "rows_to_memory", "step_to_floor"}) {
    EXPECT_GT(ToJson(with)["ratios"][key], 0) << key;
    EXPECT_TRUE(ToJson(without)["ratios"][key].is_null()) << key;
  }
}

TEST(StepBenchmark, RatiosAreOfTheTimesAndLimitsOfTheSameRun) {
  const StepResult result = StepOn(1, SmallBench(40, true));
  const auto ms = ToJson(result)["phases_ms"];
  const double gemm_ms = 1e3 * 40 / *result.gemm_samples_per_s;
  const double reads = 40 * kIdsPerSample;
  // Of the rows of a step: 8 columns each, all as wide.
  const double touched = (result.ratios.rows_to_memory.value() *
                              (ms["lookup"].get<double>() + ms["sparse_backward"].get<double>()) / 1e3 -
                          reads / result.rows->gather_rows_per_s) *
                         result.rows->update_rows_per_s;
  ThreadPool pool(1);
  const BenchConfig config = SmallBench(40, true);
  EXPECT_NEAR(touched,
              static_cast<double>(CountRowWork(config.trainer.model, config.data, 40, pool).rows_updated),
              1e-6);
  EXPECT_NEAR(*result.ratios.tower_to_gemm, gemm_ms / ms["dense"].get<double>(), 1e-9);
  const double rows_ms =
      *result.ratios.rows_to_memory * (ms["lookup"].get<double>() + ms["sparse_backward"].get<double>());
  EXPECT_NEAR(*result.ratios.step_to_floor, (gemm_ms + rows_ms) / result.mean_over_ranks_ms, 1e-9);
}

TEST(StepBenchmark, RowsAreOfNoSingleRankOfMany) {
  const StepResult result = StepOn(2, SmallBench(20, true));
  EXPECT_TRUE(result.ratios.tower_to_gemm.has_value());
  EXPECT_FALSE(result.ratios.rows_to_memory.has_value());
  EXPECT_FALSE(result.ratios.step_to_floor.has_value());
}

// 20 samples in 8 units: two ranks have 12 and 8 of them.
TEST(StepBenchmark, RanksTrainOnTheSamplesOfOneRank) {
  ExpectSameBits(StepOn(2, SmallBench(10, false)), StepOn(1, SmallBench(20, false)));
}

TEST(StepBenchmark, TellsEveryStepOnce) {
  BenchConfig config = SmallBench(8, false);
  std::vector<std::string> told;
  config.on_step = [&](const StepsDone& steps) {
    told.push_back((steps.warmup ? "w" : "t") + std::to_string(steps.done) + "/" + std::to_string(steps.of));
  };
  StepOn(1, config);
  EXPECT_EQ(told, (std::vector<std::string>{"w1/2", "w2/2", "t1/3", "t2/3", "t3/3"}));
  told.clear();
  SparseOn(1, config);
  EXPECT_EQ(told, (std::vector<std::string>{"w1/2", "w2/2", "t1/3", "t2/3", "t3/3"}));
}

// Column shards hold a piece of every table: all ids go to the other rank once, and half of the pooled
// columns comes from it.
TEST(StepBenchmark, IdsAreShippedOnceARank) {
  constexpr std::int64_t kBatch = 32;
  for (const bool pipeline : {false, true}) {
    for (const auto& [wire, id_bytes] : {std::pair(IdBytes::k4, 4), std::pair(IdBytes::k8, 8)}) {
      BenchConfig config = SmallBench(kBatch / 2, false);
      config.pipeline = pipeline;
      config.trainer.dist.id_bytes = wire;
      const auto bytes = ToJson(StepOn(2, config, PlanKind::kColumnWise))["bytes"];
      EXPECT_EQ(bytes["input_dist"], kIdsPerSample * kBatch * id_bytes);
      EXPECT_EQ(bytes["output_dist"], kBatch * 4 * 8 * 4 / 2);
    }
  }
}

TEST(StepBenchmark, AJsonHasTheContractsFields) {
  const auto json = ToJson(StepOn(2, SmallBench(20, false)));
  EXPECT_EQ(json["world"], 2);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["transport"], "threads");
  EXPECT_EQ(json["global_batch"], 40);
  EXPECT_EQ(json["ids_per_step"], 40 * kIdsPerSample);
  EXPECT_EQ(json["rows"], 454);
  EXPECT_EQ(json["weights_hash"].get<std::string>().size(), 16U);
}

TEST(SparseBenchmark, LimitsAreMeasuredOrLeftOut) {
  const SparseResult with = SparseOn(1, SmallBench(40, true));
  EXPECT_EQ(with.work.rows_read, 40 * kIdsPerSample);
  EXPECT_DOUBLE_EQ(ToJson(with)["limits"]["memory_ms"].get<double>(), 1e3 * with.rows->SecondsOf(with.work));
  EXPECT_THAT(ToText(with), HasSubstr("\nlimit: rows read "));
  const SparseResult without = SparseOn(1, SmallBench(40, false));
  EXPECT_EQ(ToJson(without)["limits"], nlohmann::ordered_json::object());
  EXPECT_EQ(ToJson(without)["touched_rows_per_step"], with.work.rows_updated);
  EXPECT_THAT(ToText(without), Not(HasSubstr("limit")));
}

TEST(RowWork, CountsTheRowsOfATableOnceWhicheverOfItsFeaturesNamesThem) {
  ThreadPool pool(2);
  SyntheticConfig data = SmallData(std::nullopt);
  data.rows = {1, 1, 1};
  data.bag_sizes = {3, 2, 1};
  ModelConfig model = SmallTrainer(SyntheticSource(data).description()).model;
  const RowWork apart = CountRowWork(model, data, 10, pool);
  EXPECT_EQ(apart.rows_read, 60);
  EXPECT_EQ(apart.rows_updated, 3);
  model.tables[0].feature_names = {"f0", "f2"};
  model.tables.pop_back();
  model.tables[1].embedding_dim = 4;
  const RowWork shared = CountRowWork(model, data, 10, pool);
  EXPECT_EQ(shared.rows_read, 60);
  EXPECT_EQ(shared.rows_updated, 2);
  EXPECT_EQ(shared.weights_read, 40 * 8 + 20 * 4);
  EXPECT_EQ(shared.weights_updated, 8 + 4);
}

TEST(WorldRowLimits, TakeTheTimeOfWhatIsReadAndOfWhatIsUpdated) {
  const WorldRowLimits limits{0, 0, 1000, 100};
  EXPECT_DOUBLE_EQ(limits.SecondsOf({.weights_read = 500, .weights_updated = 20}), 0.5 + 0.2);
}

TEST(Check, TheEngineAgreesWithTheReference) {
  ThreadPool pool(2);
  for (const OptimizerKind optimizer :
       {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
    for (const BackwardKernel kernel : {BackwardKernel::kFused, BackwardKernel::kUnfused}) {
      BenchConfig config = SmallBench(40, false);
      SetOptimizer(config.trainer.model.tables, {.kind = optimizer});
      config.trainer.dense_optimizer.kind = optimizer;
      config.trainer.kernel = kernel;
      config.trainer.plan = PlanOf(PlanKind::kTableWise, config.trainer.model, 1);
      for (EmbeddingTableConfig& table : config.trainer.model.tables) table.pooling = PoolingType::kMean;
      const auto comm = MakeSoleRank();
      for (const CheckResult& check : {CheckStep(config, *comm, pool), CheckSparse(config, *comm, pool)}) {
        EXPECT_TRUE(check.ok) << ToString(optimizer) << " " << ToText(check);
        EXPECT_LE(check.max_error, 1e-4);
        EXPECT_GE(check.samples, 32);
      }
    }
  }
}

TEST(Check, TheShardedPathAgreesToo) {
  for (const PlanKind kind : {PlanKind::kColumnWise, PlanKind::kRowWise, PlanKind::kDataParallel}) {
    BenchConfig config = SmallBench(10, false);
    config.trainer.dist.recat = RecatMode::kSc;
    for (const auto check : {CheckStep, CheckSparse}) {
      const CheckResult result = OnThreadRanks(2, config, kind, check);
      EXPECT_TRUE(result.ok) << static_cast<int>(kind) << " " << ToText(result);
    }
  }
}

TEST(Check, WhatIsNoNumberIsAMismatch) {
  ThreadPool pool(1);
  BenchConfig config = SmallBench(40, false);
  config.trainer.plan = PlanOf(PlanKind::kTableWise, config.trainer.model, 1);
  SetOptimizer(config.trainer.model.tables, {.learning_rate = 1e30F});
  config.trainer.dense_optimizer.learning_rate = 1e30F;
  const auto comm = MakeSoleRank();
  const CheckResult check = CheckStep(config, *comm, pool);
  EXPECT_FALSE(check.ok);
  EXPECT_THAT(ToText(check), HasSubstr("MISMATCH"));
  const auto json = ToJson(DescribeRun("step", config, *comm, 1), check);
  EXPECT_EQ(json["checked"], false);
  EXPECT_FALSE(json.contains("losses")) << "the run went no further";
}

// Three tables of other widths, optimizers and pooling; one has two features.
BenchConfig MixedBench(std::int64_t per_chip_batch) {
  BenchConfig config = SmallBench(per_chip_batch, true);
  config.data.rows = {50, 3, 400, 50};
  std::vector<EmbeddingTableConfig>& tables = config.trainer.model.tables;
  tables.pop_back();
  tables[0].feature_names = {"f0", "f3"};
  tables[1].embedding_dim = 4;
  tables[1].pooling = PoolingType::kMean;
  tables[1].optimizer.kind = OptimizerKind::kSgd;
  tables[2].embedding_dim = 20;
  tables[2].optimizer.kind = OptimizerKind::kRowWiseAdagrad;
  config.trainer.model.dense_arch = {16, 6};
  return config;
}

TEST(MixedTables, TrainTheSameBitsOnRanksAndAgreeWithTheReference) {
  BenchConfig two = MixedBench(20);
  two.limits = false;
  BenchConfig one = MixedBench(40);
  one.limits = false;
  ExpectSameBits(StepOn(2, two), StepOn(1, one));
  for (const auto check : {CheckStep, CheckSparse}) {
    for (const int ranks : {1, 2}) {
      const CheckResult result = OnThreadRanks(ranks, MixedBench(40), PlanKind::kTableWise, check);
      EXPECT_TRUE(result.ok) << ranks << " " << ToText(result);
    }
  }
}

TEST(MixedTables, AreMeasuredByTheirWeights) {
  const SparseResult result = SparseOn(1, MixedBench(40));
  EXPECT_EQ(result.work.rows_read, 40 * kIdsPerSample);
  EXPECT_EQ(result.work.weights_read, 40 * (3 * 8 + 1 * 4 + 5 * 20));
  EXPECT_NEAR(result.rows->gather_weights_per_s / result.rows->gather_rows_per_s,
              (50 * 8 + 3 * 4 + 400 * 20) / 453.0, 1e-9)
      << "rows of the mean width";
  EXPECT_TRUE(ToJson(result)["optimizer"].is_null());
  EXPECT_EQ(ToJson(result)["rows"], 453) << "of tables, not of features";
}

TEST(MixedTables, AreExchangedAsTheirColumns) {
  AllToAllResult result;
  const BenchConfig config = MixedBench(40);
  OnRanks(2, [&](Communicator& comm) {
    const AllToAllResult mine = RunAllToAll(config, 2, comm);
    if (comm.rank() == 0) result = mine;
  });
  // One rank's 40 samples, of both ranks' columns.
  EXPECT_EQ(result.pooled.payload_bytes, 40 * (2 * 8 + 4 + 20) * 4);
  EXPECT_EQ(result.ids.payload_bytes, 2 * 40 * kIdsPerSample * 4);
  EXPECT_TRUE(ToJson(result)["embedding_dim"].is_null());
}

}  // namespace
}  // namespace hotrow
