// The program under mpirun: the same numbers as in one process, and a user's mistakes said once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/comm/mpi_session.h"
#include "tests/cli/program.h"
#include "tests/comm/run_under_mpi.h"

namespace hotrow {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

const Words kBench = {"bench", "--max-rows",     "300",   "--multi-hot", "one",  "--per-chip-batch",
                      "16",    "--steps",        "2",     "--warmup",    "1",    "--embedding-dim",
                      "16",    "--dense-arch",   "16,16", "--over-arch", "16,1", "--dcn-num-layers",
                      "1",     "--dcn-low-rank", "4",     "--threads",   "1"};

// For those that run to their end.
const Words kNoLimits = {"--limits", "off"};

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class MpiProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* reason = WhyNoMpi()) GTEST_SKIP() << reason;
  }

  // mpirun ARGS; where "hotrow" stands for the program.
  ProgramResult MpiRun(const Words& args) {
    const auto begin = std::chrono::steady_clock::now();
    ProgramResult result =
        RunProgram("/usr/bin/env", Words{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                         "timeout", "120", "mpirun", "--oversubscribe", "--bind-to", "none"} +
                                       args);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }
  ProgramResult OnRanks(int ranks, const Words& args) {
    return MpiRun(Words{"-n", std::to_string(ranks), HOTROW_TEST_BINARY} + args);
  }

  void ExpectMistake(const ProgramResult& result, const std::string& message) {
    const double seconds = seconds_;
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(Occurrences(result.err, "error: "), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error: "));
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "");
    if (!calm_) {
      ASSERT_EQ(OnRanks(2, {"--version"}).exit_code, 0);
      calm_ = seconds_;
    }
    EXPECT_LT(seconds, SecondsToEnd(*calm_));
  }

  double seconds_ = 0;  // of the last MpiRun
  std::optional<double> calm_;
};

TEST_F(MpiProgram, SameBitsAsInOneProcess) {
  const TemporaryDirectory directory;
  const std::string mpi = directory.File("mpi.json");
  const std::string alone = directory.File("alone.json");
  const ProgramResult result = OnRanks(2, kBench + Words{"--json", mpi});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  Words one = kBench + kNoLimits + Words{"--json", alone};
  one[6] = "32";
  ASSERT_EQ(RunHotrow(one).exit_code, 0);
  const auto a = nlohmann::json::parse(std::ifstream(mpi));
  const auto b = nlohmann::json::parse(std::ifstream(alone));
  EXPECT_EQ(a["transport"], "mpi");
  EXPECT_EQ(a["world"], 2);
  for (const char* key : {"losses", "weights_hash", "state_hash"}) EXPECT_EQ(a[key], b[key]) << key;
  EXPECT_GT(a["limits"]["gemm_samples_per_s"], 0);
  for (const auto& [name, ratio] : a["ratios"].items()) EXPECT_TRUE(ratio.is_null()) << name;
}

// What a launcher that started one process has started is an ordinary process, which may have thread ranks.
TEST_F(MpiProgram, AWorldOfOneProcessIsNone) {
  const ProgramResult result =
      OnRanks(1, kBench + kNoLimits + Words{"--ranks", "2", "--json", "-", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["transport"], "threads");
}

TEST_F(MpiProgram, HelpAndVersionOnce) {
  const ProgramResult help = OnRanks(2, {"bench", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(Occurrences(help.out, "--per-chip-batch"), 1);
  const ProgramResult version = OnRanks(2, {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(Occurrences(version.out, "\n"), 1) << version.out;
}

TEST_F(MpiProgram, MistakesThatAllRanksSee) {
  ExpectMistake(OnRanks(2, kBench + Words{"--nope"}), "--nope");
  ExpectMistake(OnRanks(2, kBench + Words{"--recat-mode", "xx"}), "--recat-mode: 'xx'");
  ExpectMistake(OnRanks(2, kBench + Words{"--json", "/nowhere/a.json"}), "--json /nowhere/a.json");
  ExpectMistake(OnRanks(2, kBench + Words{"--ranks", "3"}), "--ranks 3: the launcher started 2 processes");
  ExpectMistake(OnRanks(2, kBench + Words{"--reduction-units", "3"}), "2 ranks cannot share 3");
  ExpectMistake(OnRanks(3, kBench), "16 columns over 3 ranks");
  ExpectMistake(OnRanks(2, kBench + Words{"--part", "gemm"}), "--part gemm: runs in one process");
}

TEST_F(MpiProgram, PlansForAnotherModelOrWorld) {
  const TemporaryDirectory directory;
  const std::string plan = directory.File("plan.json");
  const auto make = [&](const char* ranks, const char* dim) {
    const ProgramResult made = RunHotrow(
        {"plan", "make", "--ranks", ranks, "--embedding-dim", dim, "--max-rows", "300", "--out", plan});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  };
  make("2", "8");
  ExpectMistake(OnRanks(2, kBench + Words{"--sharding", plan}), "made for another model");
  make("4", "16");
  ExpectMistake(OnRanks(2, kBench + Words{"--sharding", plan}), "made for a world of 4 ranks");
}

TEST_F(MpiProgram, CommandsOfOneProcessRefuseMore) {
  for (const Words& args :
       {Words{"doctor"}, Words{"plan", "show", "x"}, Words{"eval", "--model", "x", "--data", "y"},
        Words{"predict", "--model", "x", "--data", "y"}, Words{"data", "generate", "--out", "x"}}) {
    ExpectMistake(OnRanks(2, args), args[0] + ": runs in one process, the launcher started 2");
  }
}

TEST_F(MpiProgram, RanksWithOtherFlags) {
  const auto second = [&](const Words& args) {
    return MpiRun(Words{"-n", "1", HOTROW_TEST_BINARY} + kBench + kNoLimits +
                  Words{":", "-n", "1", HOTROW_TEST_BINARY} + args);
  };
  ExpectMistake(second(kBench + kNoLimits + Words{"--seed", "1"}), "--seed: 1 of 2 ranks differ");
  ExpectMistake(second(kBench + kNoLimits + Words{"--pipeline", "off"}), "--pipeline: 1 of 2 ranks differ");
  ExpectMistake(second(kBench + kNoLimits + Words{"--nope"}), "--nope");
  ExpectMistake(second({"train", "--format", "synthetic"}), "the command and hotrow's version");
  ExpectMistake(second({"--version"}), "the command and hotrow's version");
  ExpectMistake(second({"bench", "--help"}), "the command and hotrow's version");
  // What each rank may choose for itself, and a default that is spelled out.
  EXPECT_EQ(second(kBench + kNoLimits + Words{"--quiet", "--seed", "0"}).exit_code, 0);
}

// A directory may be on rank 0's host alone.
TEST_F(MpiProgram, OnlyTheRankThatWritesNeedsAPlace) {
  const TemporaryDirectory directory;
  const Words train = {"train", "--format",        "synthetic", "--cardinality", "50,9", "--samples",
                       "64",    "--batch-size",    "32",        "--multi-hot",   "one",  "--threads",
                       "1",     "--embedding-dim", "8",         "--dense-arch",  "8,8",  "--over-arch",
                       "8,1",   "--dcn-low-rank",  "4",         "--quiet"};
  const std::string script =
      "[ \"$OMPI_COMM_WORLD_RANK\" = 0 ] || mount --bind /proc " + directory.path() + "; exec \"$@\"";
  const Words unshared = {"-n", "2", "unshare", "--mount", "sh", "-c", script, "sh", HOTROW_TEST_BINARY};
  if (RunProgram("/usr/bin/env", {"unshare", "--mount", "true"}).exit_code != 0)
    GTEST_SKIP() << "ranks cannot have mounts of their own here";
  for (const Words& args : {train, kBench + kNoLimits}) {
    const ProgramResult result =
        MpiRun(unshared + args +
               Words{"--json", directory.File("json"), "--profile-dir", directory.File("deep/trace")});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(directory.List(), testing::ElementsAre("deep", "json"));
  }
}

ProgramResult AsProcessOfPmi(const std::string& rank) {
  return RunProgram("/usr/bin/env",
                    Words{"PMI_RANK=" + rank, "PMI_SIZE=2", "timeout", "60", HOTROW_TEST_BINARY} + kBench);
}

// Processes that MPI does not join would each be a world of its own.
TEST_F(MpiProgram, ALauncherThatMpiDoesNotKnow) {
  ExpectMistake(AsProcessOfPmi("0"), "started 2 processes and MPI joined 1");
  const ProgramResult other = AsProcessOfPmi("1");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err, "");
}

}  // namespace
}  // namespace hotrow
