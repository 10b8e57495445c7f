// The trainer over thread ranks.

#include <cmath>
#include <functional>

#include "hotrow/base/error.h"
#include "hotrow/plan/plan_file.h"
#include "tests/support/allocation_counter.h"
#include "tests/train/over_ranks.h"

namespace hotrow {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kSamples = 37;  // eight units of two sizes

struct Left {
  std::vector<float> losses;
  std::vector<float> logits;  // every sample's, step by step
  std::uint64_t weights = 0;
  std::uint64_t state = 0;
  bool operator==(const Left&) const = default;
};

class RanksTest : public ::testing::Test {
 protected:
  // Trains on steps [0, steps); `between` runs between a step and the next.
  using Between = std::function<void(Trainer&, std::int64_t step)>;
  Left Train(Communicator& comm, const TrainerConfig& config, bool pipelined, const Between& between = {}) {
    ThreadPool pool(1);
    Trainer trainer(config, comm, pool);
    std::vector<Batch> batches;
    for (std::int64_t step = 0; step < 4; ++step)
      batches.push_back(OwnBatch(source_, step, kSamples, config.reduction_units, comm));
    Left left;
    for (std::size_t step = 0; step < batches.size(); ++step) {
      const bool ahead = pipelined && step + 1 < batches.size();
      left.losses.push_back(trainer.Step(batches[step], ahead ? &batches[step + 1] : nullptr));
      const auto logits =
          Joined(comm, trainer.last_logits().first(static_cast<std::size_t>(batches[step].size)));
      left.logits.insert(left.logits.end(), logits.begin(), logits.end());
      if (between) between(trainer, static_cast<std::int64_t>(step));
    }
    left.weights = trainer.WeightsHash();
    left.state = trainer.StateHash();
    return left;
  }
  Left OneRank() {
    TrainerConfig config = config_;
    config.plan.reset();
    return Train(*MakeSoleRank(), config, false);
  }
  void ExpectBitsOfOneRank(int ranks, const TrainerConfig& config) {
    const Left want = OneRank();
    for (const bool pipelined : {false, true}) {
      OnRanks(ranks, [&](Communicator& comm) {
        const Left got = Train(comm, config, pipelined);
        EXPECT_EQ(got.losses, want.losses);
        EXPECT_EQ(got.logits, want.logits);
        EXPECT_EQ(got.weights, want.weights);
        EXPECT_EQ(got.state, want.state);
      });
    }
  }

  SyntheticSource source_{SmallData(std::nullopt)};
  TrainerConfig config_ = SmallTrainer(source_.description());
};

TEST_F(RanksTest, TrainTheBitsOfOneRank) {
  for (const int ranks : {1, 2, 4, 8}) {
    SCOPED_TRACE(ranks);
    ExpectBitsOfOneRank(ranks, config_);
  }
}

TEST_F(RanksTest, AWidthThatRanksDoNotDivideTrainsByAPlanFile) {
  config_.model.dense_arch = {16, 10};
  for (EmbeddingTableConfig& table : config_.model.tables) {
    table.embedding_dim = 10;
    table.optimizer.kind = OptimizerKind::kRowWiseAdagrad;
  }
  ShardingPlan plan{4, {}};
  for (const EmbeddingTableConfig& table : config_.model.tables) {
    const std::int64_t rows = table.num_embeddings;
    plan.tables.push_back(
        {table.name,
         rows,
         10,
         ShardingType::kColumnWise,
         0,
         {{2, 0, rows, 0, 4}, {0, 0, rows, 4, 4}, {1, 0, rows, 8, 2}}});  // nothing on rank 3
  }
  config_.plan = ParsePlan(PlanToJson(plan), "plan.json");
  ExpectBitsOfOneRank(4, config_);
}

TEST_F(RanksTest, OtherRankCountsAgreeToRounding) {
  const Left want = OneRank();
  config_.reduction_units = 12;
  Left first;
  for (const bool pipelined : {false, true}) {
    OnRanks(3, [&](Communicator& comm) {
      const Left got = Train(comm, config_, pipelined);
      for (std::size_t i = 0; i < want.losses.size(); ++i)
        EXPECT_NEAR(got.losses[i], want.losses[i], 1e-5 * static_cast<double>(want.losses[i]));
      if (comm.rank() != 0) return;
      if (pipelined) {
        EXPECT_EQ(got, first);
      } else {
        first = got;
      }
    });
  }
}

TEST_F(RanksTest, PredictionMayStandBetweenAStepAndTheNext) {
  std::vector<std::vector<float>> predicted;  // by one rank
  const auto predict = [&](Trainer& trainer, std::int64_t step) {
    Batch batch = OwnBatch(source_, 100 + step, 29, 8, trainer.comm());
    std::vector<float> logits(static_cast<std::size_t>(batch.size));
    trainer.Predict(batch, logits);
    return Joined(trainer.comm(), logits);
  };
  TrainerConfig alone = config_;
  const Left want = Train(*MakeSoleRank(), alone, false, [&](Trainer& trainer, std::int64_t step) {
    predicted.push_back(predict(trainer, step));
  });
  EXPECT_EQ(want, OneRank());
  for (const PlanKind kind : {PlanKind::kTableWise, PlanKind::kColumnWise, PlanKind::kDataParallel}) {
    OnRanks(2, [&](Communicator& comm) {
      TrainerConfig config = config_;
      config.plan = PlanOf(kind, config.model, 2);
      EXPECT_EQ(want, Train(comm, config, true, [&](Trainer& trainer, std::int64_t step) {
                  EXPECT_EQ(predict(trainer, step), predicted[static_cast<std::size_t>(step)]) << step;
                }));
    });
  }
}

TEST_F(RanksTest, ABatchThatWasAnnouncedMayBeDropped) {
  const auto losses = [&](Communicator& comm, bool drop) {
    ThreadPool pool(1);
    Trainer trainer(config_, comm, pool);
    Batch first = OwnBatch(source_, 0, kSamples, 8, comm);
    Batch dropped = OwnBatch(source_, 1, kSamples, 8, comm);
    Batch last = OwnBatch(source_, 2, kSamples, 8, comm);
    std::vector<float> out = {trainer.Step(first, drop ? &dropped : nullptr)};
    trainer.DropNext();
    trainer.DropNext();  // nothing is left
    out.push_back(trainer.Step(last));
    return std::pair(out, trainer.WeightsHash());
  };
  const auto want = losses(*MakeSoleRank(), false);
  for (const bool drop : {false, true})
    OnRanks(4, [&](Communicator& comm) { EXPECT_EQ(losses(comm, drop), want); });
}

// The other ranks wait for the ids of the next batch, so its bad id must not stop this step.
TEST_F(RanksTest, ABadIdOfTheNextBatchFailsAtItsOwnStep) {
  for (const PlanKind kind : {PlanKind::kTableWise, PlanKind::kRowWise, PlanKind::kGrid}) {
    std::atomic<int> first_steps = 0;
    std::atomic<int> second_steps = 0;
    const std::string error = ErrorOnRanks(4, [&](Communicator& comm) {
      ThreadPool pool(1);
      TrainerConfig config = config_;
      config.plan = PlanOf(kind, config.model, 4);
      Trainer trainer(config, comm, pool);
      Batch batch = OwnBatch(source_, 0, kSamples, 8, comm);
      Batch next = OwnBatch(source_, 1, kSamples, 8, comm);
      if (comm.rank() == 2) {
        next.first_sample = 5000;
        next.sparse.mutable_values()[static_cast<std::size_t>(next.size * 2 + 3)] = 77;  // f1 has 3 rows
      }
      trainer.Step(batch, &next);
      ++first_steps;
      comm.Barrier();  // the rank that fails must not stop a slower one within its step
      trainer.Step(next);
      ++second_steps;
    });
    EXPECT_THAT(error, AllOf(HasSubstr("f1"), HasSubstr("5003"), HasSubstr("77")));
    EXPECT_EQ(first_steps, 4);
    EXPECT_EQ(second_steps, 0);
  }
}

TEST_F(RanksTest, ADroppedBatchsBadIdIsForgotten) {
  OnRanks(2, [&](Communicator& comm) {
    ThreadPool pool(1);
    Trainer trainer(config_, comm, pool);
    Batch batch = OwnBatch(source_, 0, kSamples, 8, comm);
    Batch bad = OwnBatch(source_, 1, kSamples, 8, comm);
    if (comm.rank() == 1) bad.sparse.mutable_values()[0] = -9;
    trainer.Step(batch, &bad);
    trainer.DropNext();
    Batch other = OwnBatch(source_, 2, kSamples, 8, comm);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(std::isfinite(trainer.Step(batch, &other)));
      EXPECT_TRUE(std::isfinite(trainer.Step(other, &batch)));
    }
    trainer.DropNext();
  });
}

TEST_F(RanksTest, AnotherConfigurationOnOneRankIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(TrainerConfig&)>>> changes = {
      {"seed", [](TrainerConfig& c) { c.seed = 99; }},
      {"learning rate", [](TrainerConfig& c) { c.model.tables[1].optimizer.learning_rate = 0.06F; }},
      {"schedule", [](TrainerConfig& c) { c.schedule.warmup_steps = 3; }},
      {"clip norm", [](TrainerConfig& c) { c.clip_norm = 1; }},
      {"recat", [](TrainerConfig& c) { c.dist.recat = RecatMode::kTc; }},
      {"width",
       [](TrainerConfig& c) {
         c.model.over_arch = {13, 1};
       }},
      {"plan", [](TrainerConfig& c) { c.plan = PlanOf(PlanKind::kRowWise, c.model, 4); }},
  };
  for (const auto& [what, change] : changes) {
    const std::string error = ErrorOnRanks(4, [&](Communicator& comm) {
      TrainerConfig config = config_;
      if (comm.rank() == 2) change(config);
      ThreadPool pool(1);
      Trainer(config, comm, pool);
    });
    EXPECT_THAT(error, HasSubstr("the configuration: 1 of 4 ranks differ from the others: 2")) << what;
  }
}

TEST_F(RanksTest, AReplicaThatDiffersIsFound) {
  config_.plan = PlanOf(PlanKind::kDataParallel, config_.model, 4);
  config_.verify_every = 2;
  const std::string error = ErrorOnRanks(4, [&](Communicator& comm) {
    ThreadPool pool(1);
    Trainer trainer(config_, comm, pool);
    trainer.Verify();
    Batch batch = OwnBatch(source_, 0, kSamples, 8, comm);
    const std::vector<float> row(8, 0.25F);
    if (comm.rank() == 1) trainer.embeddings().WriteRows(2, 399, 1, row.data());
    trainer.Step(batch);
    trainer.Step(batch);
  });
  EXPECT_THAT(error, HasSubstr("the weights after step 2: 1 of 4 ranks differ from the others: 1"));
}

// Lists of a few hundred bytes aside, two ranks allocate nothing once they have seen the largest batch.
TEST_F(RanksTest, TheSteadyStateAllocatesNothing) {
  for (const PlanKind kind :
       {PlanKind::kTableWise, PlanKind::kColumnWise, PlanKind::kRowWise, PlanKind::kDataParallel}) {
    SCOPED_TRACE(static_cast<int>(kind));
    config_.plan = PlanOf(kind, config_.model, 2);
    for (const OptimizerKind optimizer : {OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad}) {
      SetOptimizer(config_.model.tables, {.kind = optimizer});
      OnRanks(2, [&](Communicator& comm) {
        ThreadPool pool(1);
        Trainer trainer(config_, comm, pool);
        Batch batches[2] = {OwnBatch(source_, 0, 2048, 8, comm), OwnBatch(source_, 1, 2048, 8, comm)};
        const auto run = [&](int steps) {
          for (int i = 0; i < steps; ++i) trainer.Step(batches[i % 2], &batches[1 - i % 2]);
        };
        run(6);
        comm.Barrier();
        const std::int64_t before = LargeAllocations();
        const std::int64_t mapped = Mappings();
        comm.Barrier();
        run(6);
        comm.Barrier();
        EXPECT_EQ(LargeAllocations(), before);
        EXPECT_EQ(Mappings(), mapped);
        trainer.DropNext();
      });
    }
  }
}

}  // namespace
}  // namespace hotrow
