#include "hotrow/sharded/sharded_embedding_bag_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/thread_ranks.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/sharded/table_shapes.h"
#include "sharded_cases.h"

namespace hotrow {
namespace {

using sharded_test::Case;
using sharded_test::RunCase;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The weights' hash of a case on thread ranks.
std::uint64_t RunOnThreads(const Case& c, int world) {
  SCOPED_TRACE(c.Name() + ", " + std::to_string(world) + " ranks");
  std::atomic<std::uint64_t> hash = 0;
  try {
    RunThreadRanks(world, [&](Communicator& comm) { hash = RunCase(c, comm); });
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  return hash;
}

class World : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sharded, World, testing::Values(1, 2, 4, 8),
                         [](const auto& info) { return "Of" + std::to_string(info.param); });

TEST_P(World, TrainsAsOneRankDoes) {
  for (const Case& c : sharded_test::Matrix()) {
    const std::uint64_t hash = RunOnThreads(c, GetParam());
    if (PromisesBits(c.plan)) continue;
    EXPECT_EQ(RunOnThreads(c, GetParam()), hash) << "repeats";
  }
}

TEST_P(World, TrainsTheSameOnEveryRoute) {
  for (const Case& c : sharded_test::Routes()) RunOnThreads(c, GetParam());
}

TEST_P(World, TrainsOnBatchesOfUnequalSizes) {
  for (const Case& c : sharded_test::UnequalBatches()) RunOnThreads(c, GetParam());
}

TEST(Sharded, ColumnShardsOfARowAgreeOnItWhateverTheirThreads) {
  RunOnThreads(sharded_test::LargeBatch(), 2);
}

TEST(Sharded, ThreeRanksRepeatWhereNoBitsArePromised) {
  Case c;
  c.plan = PlanOf::kRowWise;
  c.optimizer = OptimizerKind::kSgd;
  EXPECT_EQ(RunOnThreads(c, 3), RunOnThreads(c, 3));
}

const std::vector<EmbeddingTableConfig> kTables = {{"t", 100, 8, PoolingType::kSum, {"f0"}},
                                                   {"u", 50, 8, PoolingType::kSum, {"f1"}}};

ShardingPlan ColumnWise(std::int64_t world) {
  return MakePlan(PlanKind::kColumnWise, TableShapes(kTables, {"f0", "f1"}), world);
}

TEST(Sharded, RefusesWhatDoesNotFit) {
  RunThreadRanks(2, [](Communicator& comm) {
    ThreadPool pool(1);
    const auto make = [&](std::vector<std::string> features, const ShardingPlan& plan,
                          const EmbeddingOptions& options) {
      ShardedEmbeddingBagCollection(kTables, std::move(features), plan, options, {}, comm, pool);
    };
    EXPECT_THAT([&] { make({"f0"}, ColumnWise(2), {}); }, ThrowsMessage<Error>(HasSubstr("'f1'")));
    EXPECT_THAT(
        [&] {
          make({"f0", "f1"}, ColumnWise(1), {});
        },
        ThrowsMessage<Error>(HasSubstr("world of 1")));
    EmbeddingOptions unfused;
    unfused.kernel = BackwardKernel::kUnfused;
    unfused.storage = StorageKind::kLazy;
    EXPECT_THAT(
        [&] {
          make({"f0", "f1"}, ColumnWise(2), unfused);
        },
        ThrowsMessage<Error>(HasSubstr("needs eager tables")));
  });
}

// What a step of fixed bags moves, by phase, and what it does only once.
TEST(Sharded, CountsBytesAndKeepsPlans) {
  constexpr std::int64_t kWorld = 2;
  constexpr std::int64_t kSamples = 10;
  constexpr std::int64_t kStepsHere = 3;
  for (const RecatMode recat : {RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
    RunThreadRanks(kWorld, [&](Communicator& comm) {
      ThreadPool pool(1);
      DistOptions dist;
      dist.recat = recat;
      ShardedEmbeddingBagCollection tables(kTables, {"f0", "f1"}, ColumnWise(kWorld), {}, dist, comm, pool);
      const std::vector<PooledPlace> places = SampleMajorPlaces(std::vector<std::int64_t>{8, 8}, 0);
      ShardedEmbeddingBagCollection::Context context = tables.MakeContext();
      KeyedJaggedTensor batch({"f0", "f1"}, {3, 2});
      batch.ResetFixed(kSamples);
      std::vector<float> x(kSamples * 16);
      for (std::int64_t step = 1; step <= kStepsHere; ++step) {
        tables.StartInputDist(batch, context, std::vector<std::int64_t>(kWorld, kSamples));
        tables.FinishInputDist(context);
        tables.Forward(context, {x.data(), places});
        tables.Backward(context, {x.data(), places}, 8, step);
      }
      const PhaseBytes& bytes = tables.bytes();
      EXPECT_EQ(tables.id_bytes(), 4);
      EXPECT_EQ(bytes.bytes(Phase::kInputDist), kStepsHere * kSamples * 5 * 4);  // to the one other rank
      // The other rank's samples, this rank's 4 columns of each feature; gradients likewise.
      EXPECT_EQ(bytes.bytes(Phase::kOutputDist), kStepsHere * kSamples * 2 * 4 * 4);
      EXPECT_EQ(bytes.bytes(Phase::kGradDist), kStepsHere * kSamples * 2 * 4 * 4);
      EXPECT_EQ(bytes.bytes(Phase::kSparseBackward), 0);
      const std::int64_t ids = kWorld * kSamples * 5;
      EXPECT_EQ(bytes.bytes(Phase::kRecat) > 0, recat != RecatMode::kNone);
      if (recat == RecatMode::kTc) {
        EXPECT_EQ(bytes.bytes(Phase::kRecat), kStepsHere * ids * (2 * 4 + 4));
      }
      const std::int64_t plans = recat == RecatMode::kNone ? 0 : recat == RecatMode::kCpu ? kStepsHere : 1;
      EXPECT_EQ(tables.recat_plans_made(), plans);
      for (const Phase phase : {Phase::kInputDist, Phase::kLookup, Phase::kOutputDist, Phase::kGradDist,
                                Phase::kSparseBackward}) {
        EXPECT_GT(tables.phases().seconds(phase), 0.0);
      }
    });
  }
}

TEST(Sharded, RowsAreWrittenByEveryRankThatHoldsThem) {
  for (const PlanKind kind : {PlanKind::kTableWise, PlanKind::kColumnWise, PlanKind::kRowWise,
                              PlanKind::kGrid, PlanKind::kDataParallel}) {
    SCOPED_TRACE(static_cast<int>(kind));
    RunThreadRanks(2, [&](Communicator& comm) {
      ThreadPool pool(1);
      const auto shapes = TableShapes(kTables, {"f0", "f1"});
      ShardedEmbeddingBagCollection tables(kTables, {"f0", "f1"}, MakePlan(kind, shapes, 2), {}, {}, comm,
                                           pool);
      std::vector<float> rows(40 * 8);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
      tables.WriteRows(0, 30, 40, rows.data());
      std::vector<float> read(100 * 8);
      tables.ReadRows(0, 0, 100, read.data());
      if (comm.rank() == 0) {
        EXPECT_EQ(std::vector<float>(read.begin() + 30 * 8, read.begin() + 70 * 8), rows);
        EXPECT_LT(read[30 * 8 - 1], 1.0F);  // as it was
        EXPECT_LT(read[70 * 8], 1.0F);
      }
      const auto bytes = AllGather(comm, tables.LogicalBytes());
      EXPECT_EQ(bytes[0] + bytes[1], 150 * 8 * 2 * 4);  // weights and Adagrad's state, replicas once
    });
  }
}

// A rank that fails while others write into its memory, or read from it, ends all of them with its cause.
TEST(Sharded, ARankThatFailsInAStepEndsAll) {
  for (const bool backward : {false, true}) {
    EXPECT_THAT(
        [&] {
          RunThreadRanks(3, [&](Communicator& comm) {
            ThreadPool pool(1);
            const auto shapes = TableShapes(kTables, {"f0", "f1"});
            ShardedEmbeddingBagCollection tables(
                kTables, {"f0", "f1"}, MakePlan(PlanKind::kTableWise, shapes, 3), {}, {}, comm, pool);
            const std::vector<PooledPlace> places = SampleMajorPlaces(std::vector<std::int64_t>{8, 8}, 0);
            ShardedEmbeddingBagCollection::Context context = tables.MakeContext();
            KeyedJaggedTensor batch({"f0", "f1"}, {3, 2});
            for (std::int64_t step = 1; step <= 20; ++step) {
              batch.ResetFixed(10);
              std::vector<float> x(10 * 16);  // gone when the rank fails
              tables.StartInputDist(batch, context);
              tables.FinishInputDist(context);
              if (!backward && step == 10 && comm.rank() == 1) Fail("rank 1 fails");
              tables.Forward(context, {x.data(), places});
              if (backward && step == 10 && comm.rank() == 1) Fail("rank 1 fails");
              tables.Backward(context, {x.data(), places}, 9, step);
            }
          });
        },
        ThrowsMessage<Error>(HasSubstr("rank 1 fails")));
  }
}

}  // namespace
}  // namespace hotrow
