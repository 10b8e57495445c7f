// `hotrow bench` and `hotrow train` over thread ranks: the bits of one rank, the fields, the mistakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr std::int64_t kGlobalBatch = 208;  // over 1, 2, 4, 8 and 16 ranks
constexpr std::int64_t kIdsPerSample = 3 + 1 + 20 + 2;

std::vector<std::string> Bench(std::int64_t ranks, const std::vector<std::string>& more,
                               std::int64_t global_batch = kGlobalBatch) {
  std::vector<std::string> args = {"bench",
                                   "--cardinality",
                                   "100,7,3000,1",
                                   "--multi-hot",
                                   "3,1,20,2",
                                   "--embedding-dim",
                                   "32",
                                   "--dense-arch",
                                   "24,32",
                                   "--over-arch",
                                   "20,12,1",
                                   "--dcn-low-rank",
                                   "6",
                                   "--steps",
                                   "3",
                                   "--warmup",
                                   "2",
                                   "--limits",
                                   "off",
                                   "--json",
                                   "-",
                                   "--ranks",
                                   std::to_string(ranks),
                                   "--per-chip-batch",
                                   std::to_string(global_batch / ranks)};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

Json BenchJson(std::int64_t ranks, const std::vector<std::string>& more = {},
               std::int64_t global_batch = kGlobalBatch) {
  const ProgramResult result = RunHotrow(Bench(ranks, more, global_batch));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out);
}

void ExpectSameBits(const Json& json, const Json& expected) {
  for (const char* key : {"losses", "weights_hash", "state_hash"}) EXPECT_EQ(json[key], expected[key]) << key;
}

// That the flags reach the trainer; tests/matrix has every combination of them.
TEST(Ranks, GiveTheBitsOfOneRank) {
  ExpectSameBits(BenchJson(4, {"--sharding", "table_wise", "--recat-mode", "cpu", "--kernel", "unfused",
                               "--pipeline", "off", "--output-permute", "cpu", "--id-bytes", "8"}),
                 BenchJson(1));
}

TEST(Ranks, APlanFileIsAShardingToo) {
  const TemporaryDirectory directory;
  const std::string plan = directory.File("plan.json");
  const ProgramResult made =
      RunHotrow({"plan", "make", "--sharding", "auto", "--ranks", "2", "--cardinality", "100,7,3000,1",
                 "--multi-hot", "3,1,20,2", "--embedding-dim", "32", "--out", plan});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ExpectSameBits(BenchJson(2, {"--sharding", plan}), BenchJson(1));
}

TEST(Ranks, TheFieldsAreTheWorlds) {
  const Json json = BenchJson(4, {"--ranks-per-chip", "2", "--threads", "2"});
  EXPECT_EQ(json["world"], 4);
  EXPECT_EQ(json["threads"], 4) << "one a rank at least";
  EXPECT_EQ(json["global_batch"], kGlobalBatch);
  EXPECT_EQ(json["per_chip_batch"], kGlobalBatch / 4);
  EXPECT_EQ(json["ids_per_step"], kGlobalBatch * kIdsPerSample);
  EXPECT_EQ(json["reduction_units"], 8);
  EXPECT_EQ(json["transport"], "threads");
  EXPECT_LE(json["ms_per_step"]["mean_over_ranks"], json["ms_per_step"]["max_over_ranks"]);
  EXPECT_NEAR(json["k_samples_per_s_per_chip"].get<double>(),
              2 * json["k_samples_per_s_per_rank"].get<double>(), 1e-9);
  double phases = 0;
  for (const auto& [name, ms] : json["phases_ms"].items()) phases += ms.get<double>();
  EXPECT_LE(phases, 1.001 * json["ms_per_step"]["mean_over_ranks"].get<double>());
  EXPECT_GT(phases, 0.5 * json["ms_per_step"]["mean_over_ranks"].get<double>());
  for (const auto& [name, ms] : json["exposed_ms"].items()) EXPECT_EQ(ms, json["phases_ms"][name]) << name;
  EXPECT_EQ(BenchJson(16, {"--sharding", "table_wise"})["reduction_units"], 16);
}

TEST(Ranks, ATraceHasEveryRanksPhases) {
  const TemporaryDirectory directory;
  BenchJson(2, {"--profile-dir", directory.File("trace")});
  std::ifstream file(directory.File("trace/trace.json"));
  const Json trace = Json::parse(file);
  std::map<int, std::set<std::string>> spans;
  std::map<int, std::set<int>> steps;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    spans[event["pid"]].insert(event["name"]);
    steps[event["pid"]].insert(event["args"]["step"].get<int>());
  }
  ASSERT_EQ(spans.size(), 2U);
  for (const auto& [rank, names] : spans) {
    EXPECT_THAT(names, ::testing::IsSupersetOf({"step", "input_dist", "lookup", "output_dist", "dense",
                                                "unit", "grad_dist", "sparse_backward", "dense_all_reduce",
                                                "dense_optimizer"}));
    EXPECT_EQ(steps[rank], (std::set<int>{2, 3, 4})) << "the timed steps";
  }
}

std::vector<std::string> Train(const std::vector<std::string>& more) {
  std::vector<std::string> args = {
      "train",   "--format",        "synthetic", "--cardinality", "50,9,300,4", "--multi-hot",
      "2,1,5,3", "--samples",       "500",       "--batch-size",  "96",         "--epochs",
      "2",       "--embedding-dim", "16",        "--dense-arch",  "24,16",      "--over-arch",
      "20,1",    "--dcn-low-rank",  "6",         "--json",        "-",          "--quiet"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Ranks, TrainingHasTheBitsOfOneRankToo) {
  const TemporaryDirectory directory;
  const ProgramResult one = RunHotrow(Train({"--save", directory.File("one.safetensors")}));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const Json expected = Json::parse(one.out);
  ASSERT_EQ(expected["losses"].size(), 12U) << "the last batch of an epoch is short";
  const ProgramResult many = RunHotrow(Train({"--ranks", "4", "--sharding", "table_wise", "--pipeline", "off",
                                              "--save", directory.File("many.safetensors")}));
  ASSERT_EQ(many.exit_code, 0) << many.err;
  ExpectSameBits(Json::parse(many.out), expected);
  EXPECT_TRUE(FileText(directory.File("many.safetensors")) == FileText(directory.File("one.safetensors")));
}

TEST(Ranks, MistakesEndAllRanksAndSayWhatIsValid) {
  ExpectMistake(Bench(3, {}), {"column_wise", "32 columns over 3 ranks", "1, 2, 4, 8"});
  ExpectMistake(Bench(16, {}), {"32 columns over 16 ranks"});
  ExpectMistake(Bench(4, {"--reduction-units", "2"}), {"4 ranks cannot share 2", "4, 8, 16"});
  ExpectMistake(Bench(3, {"--reduction-units", "8", "--sharding", "table_wise"}), {"3 ranks cannot share 8"});
  ExpectMistake(Bench(2, {"--sharding", "diagonal"}), {"diagonal", "table_wise", "plan file"});
  ExpectMistake(Bench(2, {"--pipeline", "maybe"}), {"maybe", "on, off"});
  ExpectMistake(Bench(2, {"--recat-mode", "gpu"}), {"gpu", "none, cpu, sc, tc"});
  ExpectMistake(Bench(2, {"--output-permute", "x"}), {"none, cpu"});
  ExpectMistake(Bench(2, {"--verify-every", "-1"}), {"--verify-every"});
  ExpectMistake(Bench(2, {"--ranks-per-chip", "3"}), {"--ranks-per-chip 3", "2 ranks"});
  const TemporaryDirectory directory;
  const std::string plan = directory.File("plan.json");
  ASSERT_EQ(RunHotrow({"plan", "make", "--ranks", "2", "--cardinality", "100,7,3000,1", "--embedding-dim",
                       "32", "--out", plan})
                .exit_code,
            0);
  ExpectMistake(Bench(4, {"--sharding", plan}), {plan, "2", "4"});
  ExpectMistake(Bench(2, {"--sharding", plan, "--max-rows", "50"}), {plan, "t_f0"});
  ExpectMistake(Bench(2, {"--sharding", directory.Write("no.json", "{}")}), {"no.json"});
}

TEST(Ranks, AShardingThatIsNoFileSaysWhatItIs) {
  const TemporaryDirectory directory;
  const std::string loop = directory.File("loop");
  std::filesystem::create_symlink(loop, loop);
  std::filesystem::create_symlink("/dev/zero", directory.File("zero"));
  for (const auto& [name, why] : std::vector<std::pair<std::string, std::string>>{
           {loop, "Too many levels of symbolic links"},
           {directory.File("zero"), "that is not a file"},
           {directory.path(), "that is a directory"},
           {directory.File("none"), "there is no file of that"}}) {
    ExpectMistake(Bench(2, {"--sharding", name}), {"--sharding", name, "table_wise", why});
  }
}

}  // namespace
}  // namespace hotrow
