#include "hotrow/sharded/sharded_embedding_bag_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "hotrow/base/error.h"
#include "hotrow/comm/thread_ranks.h"
#include "sharded_cases.h"

namespace hotrow {
namespace {

using sharded_test::Case;
using sharded_test::PlanOf;
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
    if (sharded_test::PromisesBits(c)) continue;
    EXPECT_EQ(RunOnThreads(c, GetParam()), hash) << "repeats";
  }
}

TEST_P(World, TrainsTheSameOnEveryRoute) {
  for (const Case& c : sharded_test::Routes()) RunOnThreads(c, GetParam());
}

// Batches of other sizes, of none, and of none anywhere. Replicas' units follow the ranks there, so their
// bits are not one rank's.
TEST_P(World, TrainsOnBatchesOfUnequalRanks) {
  for (const PlanOf plan : {PlanOf::kTableWise, PlanOf::kColumnWise, PlanOf::kMixedWithRows}) {
    for (const auto& samples : std::vector<std::vector<std::int64_t>>{{11, 0, 3}, {0, 0, 0, 1, 20}, {0}}) {
      for (const bool fixed : {false, true}) {
        Case c;
        c.plan = plan;
        c.optimizer = OptimizerKind::kSgd;
        c.samples = samples;
        c.fixed = fixed;
        c.say_samples = fixed;
        c.dist.recat = RecatMode::kTc;
        RunOnThreads(c, GetParam());
      }
    }
  }
}

TEST(Sharded, ThreeRanksWithoutAPromiseOfBits) {
  Case c;
  c.plan = PlanOf::kRowWise;
  c.optimizer = OptimizerKind::kSgd;
  EXPECT_EQ(RunOnThreads(c, 3), RunOnThreads(c, 3));
}

}  // namespace
}  // namespace hotrow
