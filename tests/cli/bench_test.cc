// `hotrow bench` as its contract (the JSON fields, the exit codes) and the determinism that it makes visible.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/cli/program.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// Whether the part that `more` asks for measures limits beside itself, which takes longer than the part, and
// `more` does not say what to do about them.
bool MeasuresLimits(const std::vector<std::string>& more) {
  const auto part = std::find(more.begin(), more.end(), "--part");
  if (std::find(more.begin(), more.end(), "--limits") != more.end()) return false;
  return part == more.end() || part[1] == "step" || part[1] == "sparse";
}

// A bench that takes milliseconds, without limits; `more` adds flags or replaces those here.
std::vector<std::string> Small(const std::vector<std::string>& more) {
  const std::vector<std::pair<std::string, std::string>> defaults = {{"--cardinality", "100,7,3000,1"},
                                                                     {"--multi-hot", "3,1,20,2"},
                                                                     {"--embedding-dim", "16"},
                                                                     {"--dense-arch", "24,16"},
                                                                     {"--over-arch", "20,12,1"},
                                                                     {"--dcn-low-rank", "6"},
                                                                     {"--per-chip-batch", "200"},
                                                                     {"--steps", "3"},
                                                                     {"--warmup", "2"},
                                                                     {"--json", "-"}};
  std::vector<std::string> args = {"bench"};
  if (MeasuresLimits(more)) args.insert(args.end(), {"--limits", "off"});
  for (const auto& [flag, value] : defaults) {
    if (std::find(more.begin(), more.end(), flag) == more.end()) args.insert(args.end(), {flag, value});
  }
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

Json BenchJson(const std::vector<std::string>& more) {
  const ProgramResult result = RunHotrow(Small(more));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

TEST(Bench, StepHasTheContractsFields) {
  const Json json = BenchJson({"--limits", "on"});
  for (const char* key : {"command",
                          "part",
                          "version",
                          "world",
                          "threads",
                          "per_chip_batch",
                          "global_batch",
                          "cardinality",
                          "rows",
                          "ids_per_step",
                          "sharding",
                          "kernel",
                          "recat_mode",
                          "optimizer",
                          "precision",
                          "reduction_units",
                          "micro_batch",
                          "tables",
                          "steps",
                          "warmup",
                          "ms_per_step",
                          "samples_per_s",
                          "k_samples_per_s_per_rank",
                          "k_samples_per_s_per_chip",
                          "phases_ms",
                          "exposed_ms",
                          "bytes",
                          "limits",
                          "ratios",
                          "losses",
                          "weights_hash",
                          "state_hash",
                          "peak_rss_bytes"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["rows"], 3108);
  EXPECT_EQ(json["ids_per_step"], 26 * 200);
  EXPECT_EQ(json["losses"].size(), 5U) << "warm-up included";
  EXPECT_EQ(json["weights_hash"].get<std::string>().size(), 16U);
  for (const char* key : {"mean_over_ranks", "max_over_ranks", "rank0_median"})
    EXPECT_GT(json["ms_per_step"][key], 0);
  for (const char* key : {"input_dist", "recat", "lookup", "output_dist", "dense", "grad_dist",
                          "sparse_backward", "dense_all_reduce", "dense_optimizer"}) {
    EXPECT_TRUE(json["phases_ms"].contains(key)) << key;
  }
  EXPECT_GT(json["limits"]["gemm_samples_per_s"], 0);
  EXPECT_GT(json["limits"]["gather_rows_per_s"], 0);
  EXPECT_GT(json["limits"]["update_rows_per_s"], 0);
}

TEST(Bench, SeedsAndUnitsMatter) {
  const Json base = BenchJson({});
  EXPECT_NE(BenchJson({"--seed", "1"})["weights_hash"], base["weights_hash"]);
  EXPECT_NE(BenchJson({"--reduction-units", "2"})["weights_hash"], base["weights_hash"]);
}

TEST(Bench, SparseAndGemmParts) {
  const Json sparse = BenchJson({"--part", "sparse", "--limits", "on", "--ids", "zipf:1.05"});
  EXPECT_GT(sparse["touched_rows_per_step"], 0);
  EXPECT_LT(sparse["touched_rows_per_step"], sparse["rows"]) << "small tables wholly, others in part";
  EXPECT_GT(sparse["limits"]["memory_ms"], 0);
  EXPECT_GT(sparse["forward_ms"], 0);
  EXPECT_GT(sparse["step_ms"], sparse["forward_ms"]);
  const Json gemm = BenchJson({"--part", "gemm"});
  EXPECT_GT(gemm["gflops"], 0);
}

TEST(Bench, SaysHowFarItIsAndWhatACapDoes) {
  for (const char* part : {"step", "sparse", "gemm"}) {
    const ProgramResult loud = RunHotrow(Small({"--part", part, "--ranks", "1", "--max-rows", "50"}));
    EXPECT_EQ(loud.exit_code, 0) << loud.err;
    EXPECT_THAT(loud.err, HasSubstr(std::string(part) == "gemm" ? "step 1 of 3\n" : "warm-up step 1 of 2\n"));
    EXPECT_THAT(loud.err, HasSubstr(" rows, capped by --max-rows 50)"));
  }
  EXPECT_EQ(RunHotrow(Small({"--quiet"})).err, "");
  EXPECT_THAT(RunHotrow(Small({"--part", "sparse", "--max-rows", "3000"})).err,
              HasSubstr("(3108 rows, none capped by --max-rows 3000)"));
}

TEST(Bench, RecatTimesOneRanksRecatOfAllSources) {
  for (const char* mode : {"none", "cpu", "sc", "tc"}) {
    const Json json = BenchJson({"--part", "recat", "--ranks", "3", "--recat-mode", mode, "--id-bytes", "8"});
    EXPECT_EQ(json["recat_mode"], mode);
    EXPECT_EQ(json["world"], 3);
    EXPECT_EQ(json["global_batch"], 600);
    EXPECT_EQ(json["ids_per_step"], 3 * 26 * 200);
    EXPECT_EQ(json["id_bytes"], 8);
    EXPECT_EQ(json["payload_bytes"], 8 * 3 * 26 * 200);
    EXPECT_GT(json["limits"]["copy_ms"], 0);
    EXPECT_GT(json["limits"]["copy_gb_s"], 0);
    for (const char* key : {"kernel", "optimizer", "sharding", "precision"}) EXPECT_FALSE(json.contains(key));
    const bool moves = std::string(mode) != "none";
    for (const char* key : {"ms", "ms_10_percent", "ms_90_percent", "gb_s"}) {
      EXPECT_EQ(json[key].is_null(), !moves) << mode << ": not 0, which was not measured";
      EXPECT_TRUE(!moves || json[key] > 0) << mode;
    }
    EXPECT_EQ(json["checked"], moves ? Json(true) : Json(nullptr));
    // The ids read and written once, and what the engine reads beside them.
    EXPECT_GE(json["bytes"]["recat"], moves ? 2 * 8 * 3 * 26 * 200 : 0) << mode;
  }
  EXPECT_EQ(BenchJson({"--part", "recat"})["id_bytes"], 4) << "auto, small tables";
  EXPECT_EQ(BenchJson({"--part", "recat", "--cardinality", "2147483648,7,9,9"})["id_bytes"], 8);
}

TEST(Bench, AllToAllExchangesWhatAColumnWiseStepDoes) {
  for (const int ranks : {1, 2, 5}) {
    const Json json = BenchJson({"--part", "alltoall", "--ranks", std::to_string(ranks)});
    const int ids = 26 * 200;
    EXPECT_EQ(json["transport"], "threads");
    EXPECT_EQ(json["world"], ranks);
    EXPECT_EQ(json["id_bytes"], 4);
    EXPECT_EQ(json["ids_per_step"], ranks * ids);
    EXPECT_EQ(json["bytes"]["input_dist"], ranks * (ranks - 1) * ids * 4);
    // Every pooled column of every sample leaves for another rank, but for those that are where they belong.
    EXPECT_EQ(json["bytes"]["output_dist"], (ranks - 1) * 200 * 4 * 16 * 4);
    EXPECT_EQ(json["exchanges"]["input_dist"]["payload_bytes"], ranks * ids * 4);
    EXPECT_EQ(json["exchanges"]["output_dist"]["payload_bytes"], 200 * 4 * 16 * 4);
    EXPECT_EQ(json["checked"], true);
    for (const char* key : {"ms", "gb_s"}) EXPECT_GT(json[key], 0) << key;
    for (const char* exchange : {"input_dist", "output_dist"}) {
      for (const char* key : {"ms", "gb_s", "copy_ms", "copy_gb_s"}) {
        EXPECT_GT(json["exchanges"][exchange][key], 0) << exchange << " " << key;
      }
    }
  }
  // More ranks than columns: some pool nothing.
  EXPECT_EQ(BenchJson({"--part", "alltoall", "--ranks", "7", "--embedding-dim", "1", "--dense-arch",
                       "24,1"})["checked"],
            true);
}

TEST(Bench, ACheckIsToldBeforeTheResult) {
  for (const char* part : {"step", "sparse"}) {
    const ProgramResult result = RunHotrow(Small({"--part", part, "--check", "--optimizer", "adam"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json json = Json::parse(result.out);
    EXPECT_EQ(json["checked"], true);
    EXPECT_LT(json["check_max_error"], 1e-4);
    EXPECT_LT(result.err.find("check: "), result.err.find("world 1, ")) << result.err;
  }
}

TEST(Bench, AFailedCheckEndsTheRunWithoutAResult) {
  const ProgramResult result = RunHotrow(Small({"--check", "--learning-rate", "1e30"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("MISMATCH"));
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["checked"], false);
  EXPECT_FALSE(json.contains("losses"));
}

TEST(Bench, MistakesExitWith2AndSayWhatIsValid) {
  ExpectMistake(Small({"--part", "stpe"}), {"stpe", "step, sparse"});
  ExpectMistake(Small({"--model", "dlrm3"}), {"dlrm3", "dlrm_dcn"});
  ExpectMistake(Small({"--optimizer", "lamb"}), {"lamb", "adagrad"});
  ExpectMistake(Small({"--kernel", "x"}), {"fused", "unfused"});
  ExpectMistake(Small({"--tables", "x"}), {"eager", "lazy"});
  ExpectMistake(Small({"--bad-ids", "x"}), {"skip", "wrap"});
  ExpectMistake(Small({"--ids", "zipf:x"}), {"zipf"});
  ExpectMistake(Small({"--multi-hot", "1,2"}), {"4"});
  ExpectMistake(Small({"--cardinality", "huge"}), {"huge", "tiny"});
  ExpectMistake(Small({"--steps", "0"}), {"--steps"});
  ExpectMistake(Small({"--limits", "maybe"}), {"--limits: 'maybe' is none of on, off", "on, off"});
  ExpectMistake(Small({"--per-chip-batch", "x"}), {"--per-chip-batch"});
  for (const char* part : {"step", "sparse", "gemm"}) {
    for (const char* units : {"3", "-1", "2097152"}) {
      ExpectMistake(Small({"--part", part, "--reduction-units", units}),
                    {"reduction units", units, "power of two"});
    }
    ExpectMistake(Small({"--part", part, "--precision", "bf16"}), {"bf16", "fp32"});
  }
  ExpectMistake(Small({"--part", "gemm", "--check"}), {"--check"});
  ExpectMistake(Small({"--part", "gemm", "--ranks", "2"}), {"--ranks 2", "gemm", "recat, alltoall"});
  ExpectMistake(Small({"--part", "recat", "--recat-mode", "gpu"}), {"gpu", "none, cpu, sc, tc"});
  ExpectMistake(Small({"--part", "recat", "--id-bytes", "5"}), {"5", "auto, 4, 8"});
  ExpectMistake(Small({"--part", "recat", "--id-bytes", "4", "--cardinality", "2147483648,7,9,9"}),
                {"ids of 4 bytes", "t_f0", "2147483648"});
  ExpectMistake(Small({"--part", "recat", "--ranks", "1024", "--per-chip-batch", "1000000"}), {"fewer than"});
  ExpectMistake(Small({"--part", "recat", "--ranks", "1025"}), {"--ranks", "1024"});
  ExpectMistake(Small({"--part", "alltoall", "--ranks", "0"}), {"--ranks"});
  ExpectMistake(Small({"--part", "alltoall", "--ranks", "1024", "--per-chip-batch", "1000000"}), {"GiB"});
  ExpectMistake(Small({"--ranks-per-chip", "8"}), {"--ranks-per-chip 8", "1 ranks"});
  ExpectMistake(Small({"--model", "dlrm", "--embedding-dim", "8"}), {"dense"});
  ExpectMistake(Small({"--learning-rate", "nan"}), {"learning"});
  ExpectMistake(Small({"--no-such-flag"}), {"--no-such-flag"});
  ExpectMistake(Small({"--json", "/no/such/dir/x.json"}), {"/no/such/dir"});
  ExpectMistake(Small({"--json", "/tmp"}), {"/tmp", "directory"});
  ExpectMistake(Small({"--config", "/no/such.toml"}), {"/no/such.toml"});
  ExpectMistake({}, {});
  ExpectMistake({"trian"}, {});
}

TEST(Bench, FlagsOfOtherPartsAreMistakes) {
  const std::vector<std::pair<std::string, std::vector<std::vector<std::string>>>> unread = {
      {"sparse",
       {{"--profile-dir", "d"},
        {"--pipeline", "off"},
        {"--verify-every", "1"},
        {"--hash"},
        {"--ranks-per-chip", "1"}}},
      {"recat",
       {{"--profile-dir", "d"}, {"--sharding", "grid"}, {"--output-permute", "cpu"}, {"--limits", "off"}}},
      {"alltoall", {{"--hash"}, {"--sharding", "grid"}, {"--recat-mode", "tc"}}},
      {"gemm", {{"--profile-dir", "d"}, {"--recat-mode", "tc"}, {"--id-bytes", "8"}}}};
  for (const auto& [part, flags] : unread) {
    for (std::vector<std::string> flag : flags) {
      const std::string name = flag.front();
      flag.insert(flag.end(), {"--part", part});
      ExpectMistake(Small(flag), {name + ": --part " + part + " does not read it; step"});
    }
  }
  ExpectMistake(Small({"--part", "spars", "--profile-dir", "d"}),
                {"--part: 'spars' is none of step, sparse"});
}

TEST(Bench, TablesLargerThanMemorySayWhatIsNeeded) {
  ExpectMistake(
      {"bench", "--cardinality", "90000000000", "--multi-hot", "one", "--tables", "eager", "--steps", "1"},
      {"GiB"});
}

TEST(Bench, ConfigFileStandsInForFlagsAndAFlagWins) {
  const TemporaryDirectory directory;
  const std::string config =
      directory.Write("c.toml",
                      "[bench]\ncardinality = [10, 20]\nmulti_hot = \"one\"\n"
                      "[model]\nembedding_dim = 4\ndense_arch = [6, 4]\nover_arch = [5, 1]\n"
                      "steps = 9\nwarmup = 0\nper-chip-batch = 16\n");
  const ProgramResult result =
      RunHotrow({"bench", "--config", config, "--steps", "2", "--limits", "off", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["rows"], 30);
  EXPECT_EQ(json["steps"], 2);
  EXPECT_EQ(json["losses"].size(), 2U);
  ExpectMistake({"bench", "--config", directory.Write("bad.toml", "[bench]\n\nstepz = 3\n")},
                {"bad.toml:3", "stepz", "steps"});
  ExpectMistake({"bench", "--config", directory.Write("worse.toml", "[bench\n")}, {"worse.toml:1"});
  ExpectMistake({"bench", "--config", directory.Write("type.toml", "steps = \"many\"\n")},
                {"type.toml:1", "steps"});
}

}  // namespace
}  // namespace hotrow
