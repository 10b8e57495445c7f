// Runs mpi_ranks.cc under mpirun: the conformance suite, and what happens when a rank fails.

#include "hotrow/comm/mpi_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/comm/run_under_mpi.h"

namespace hotrow {
namespace {

using testing::HasSubstr;

std::optional<Launch> Detect(const std::map<std::string, std::string>& environment) {
  return DetectLaunch([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(DetectLaunch, KnowsLaunchersByTheirVariables) {
  EXPECT_FALSE(Detect({}));
  EXPECT_FALSE(Detect({{"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_FALSE(Detect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "x"}}));
  EXPECT_FALSE(Detect({{"PMI_SIZE", "4"}, {"PMI_RANK", "4"}}));
  const auto open_mpi =
      Detect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->launcher, "Open MPI's mpirun");
  EXPECT_EQ(open_mpi->rank, 3);
  EXPECT_EQ(open_mpi->size, 4);
  const auto pmi = Detect({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}});
  ASSERT_TRUE(pmi);
  EXPECT_EQ(pmi->size, 2);
  const auto slurm = Detect({{"PMIX_RANK", "1"}, {"SLURM_NTASKS", "8"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->rank, 1);
}

struct Outcome {
  int code = 0;
  std::string output;  // both streams
  double seconds = 0;
};

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* reason = WhyNoMpi()) GTEST_SKIP() << reason;
  }

  static Outcome Run(int ranks, const std::string& arguments) {
    // As root and with more ranks than cores, which mpirun refuses unless told otherwise.
    const std::string command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpirun -n " +
        std::to_string(ranks) + " --oversubscribe " HOTROW_MPI_RANKS " " + arguments + " 2>&1";
    Outcome outcome;
    const auto begin = std::chrono::steady_clock::now();
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    for (std::size_t size; (size = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
      outcome.output.append(buffer, size);
    const int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return outcome;
  }

  // The world ends in time, with one word on why.
  static void ExpectOneCause(int ranks, const std::string& failure, int code, const std::string& cause) {
    const Outcome outcome = Run(ranks, failure);
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_EQ(Occurrences(outcome.output, cause), 1) << outcome.output;
    EXPECT_LT(outcome.seconds, SecondsToEnd(Run(ranks, "code").seconds)) << outcome.output;
  }
};

TEST_F(Mpi, ConformsOnTwoRanks) {
  const Outcome outcome = Run(2, "conformance");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("cases on 2 ranks"));
}

TEST_F(Mpi, ConformsOnMoreRanks) {
  for (const int ranks : {3, 4, 5, 8}) {
    const Outcome outcome = Run(ranks, "conformance");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
  }
}

// Parts above what a message may carry: 1,021 bytes here instead of 2^30.
TEST_F(Mpi, ConformsWithPartsCutIntoMessages) {
  const Outcome outcome = Run(3, "conformance 1021");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

// 61 bytes: messages that end inside an element.
TEST_F(Mpi, ConformsWithPartsCutInsideElements) {
  const Outcome outcome = Run(2, "conformance 61");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

TEST_F(Mpi, OneRankIsAWorld) {
  const Outcome outcome = Run(1, "conformance");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

TEST_F(Mpi, ARankThatFailsEndsAll) { ExpectOneCause(3, "throw", 2, "error: rank 1 found a bad id"); }

TEST_F(Mpi, ARankThatFailsInFlightEndsAll) {
  ExpectOneCause(4, "throw-in-flight", 2, "error: gone in flight");
}

TEST_F(Mpi, AMistakeThatAllRanksSeeIsPrintedOnce) {
  ExpectOneCause(4, "all-throw", 2, "error: --ranks: everyone sees this mistake");
}

TEST_F(Mpi, SizesThatDisagreeEndAll) {
  ExpectOneCause(2, "sizes-disagree", 1, "failed: rank 0 sends 2 bytes");
  ExpectOneCause(2, "more-than-expected", 1, "failed: rank 0 sends more than the 2 bytes");
}

TEST_F(Mpi, OtherExchangesOfTheSameSizeEndAll) {
  ExpectOneCause(2, "ops-disagree", 1, "failed: ranks disagree on their next exchange");
}

TEST_F(Mpi, AKilledRankEndsAll) {
  const Outcome outcome = Run(3, "kill");
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("signal 9"));
  EXPECT_EQ(Occurrences(outcome.output, "error: "), 0) << outcome.output;
  EXPECT_LT(outcome.seconds, SecondsToEnd(Run(3, "code").seconds));
}

TEST_F(Mpi, ACodeIsHandedOn) { EXPECT_EQ(Run(2, "code").code, 7); }

}  // namespace
}  // namespace hotrow
