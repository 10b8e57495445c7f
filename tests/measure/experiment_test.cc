// What an experiment's runs say, and how its section and its command lines read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hotrow/measure/experiment.h"
#include "hotrow/measure/experiment_report.h"
#include "hotrow/measure/experiment_result.h"

namespace hotrow {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;

Json BenchResult(double ms, double loss, const Json& hash) {
  return {{"ms", ms}, {"losses", {0.5, loss}}, {"weights_hash", hash}, {"phases_ms", {{"dense", ms / 2}}}};
}

// Two rounds of a baseline, and of a configuration that gave `other`.
std::vector<ConfigurationResult> Compared(const std::vector<Json>& baseline, const std::vector<Json>& other) {
  Experiment experiment{.name = "e", .question = "", .rounds = 2, .metric = "", .configurations = {}};
  ExperimentRuns runs;
  for (const std::vector<Json>& json : {baseline, other}) {
    experiment.configurations.push_back({.name = "c", .flags = {}});
    runs.json.push_back(json);
    runs.values.emplace_back();
    for (const Json& run : json) runs.values.back().push_back(run["ms"].get<double>());
  }
  return Summarize(experiment, runs);
}

TEST(ExperimentResult, ComparesLossesAndHashesWithTheBaselines) {
  const std::vector<Json> baseline(2, BenchResult(10, 0.25, "ab"));
  const auto bits = [&](const Json& first, const Json& second) {
    return Compared(baseline, {first, second})[1].bits;
  };
  const Json same = BenchResult(9, 0.25, "ab");
  EXPECT_EQ(bits(same, same), Bits::kSame);
  EXPECT_EQ(bits(BenchResult(9, 0.26, "ab"), BenchResult(9, 0.26, "ab")), Bits::kOther);
  EXPECT_EQ(bits(BenchResult(9, 0.25, "ac"), BenchResult(9, 0.25, "ac")), Bits::kOther);
  EXPECT_EQ(bits(same, BenchResult(9, 0.25, "ac")), Bits::kNotRepeatable);
  EXPECT_EQ(bits({{"ms", 1}}, {{"ms", 1}}), Bits::kUnknown);
  const std::vector<Json> unhashed(2, BenchResult(10, 0.25, nullptr));
  EXPECT_EQ(Compared(unhashed, unhashed)[1].bits, Bits::kSameLosses);
}

TEST(ExperimentResult, FiguresAreOfAllRounds) {
  const auto results = Compared({BenchResult(10, 0, "a"), BenchResult(20, 0, "a")},
                                {BenchResult(5, 0, "a"), BenchResult(16, 0, "a")});
  EXPECT_EQ(results[1].values, (std::vector<double>{5, 16}));
  EXPECT_EQ(results[1].median, 10.5);
  EXPECT_EQ(results[1].lowest, 5);
  EXPECT_EQ(results[1].highest, 16);
  EXPECT_EQ(results[1].ratio.ratios, (std::vector<double>{0.5, 0.8}));
  EXPECT_EQ(results[1].phases_ms.at("dense"), 5.25);
  EXPECT_FALSE(results[1].samples_per_s.has_value());
}

TEST(ExperimentCommand, IsWhatAShellReads) {
  const Configuration configuration{
      .name = "c",
      .flags = {{"steps", "5"}, {"hash", "true"}, {"check", "false"}, {"cardinality", "a b's"}},
      .mpi = 4};
  EXPECT_THAT(configuration.Arguments(),
              ElementsAre("bench", "--steps", "5", "--hash", "--check=false", "--cardinality", "a b's"));
  EXPECT_EQ(configuration.CommandLine(),
            "mpirun -n 4 --oversubscribe hotrow bench --steps 5 --hash --check=false --cardinality "
            "'a b'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(ExperimentLog, TakesTheNewestSectionFirst) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("hotrow_log." + std::to_string(getpid()))).string();
  const auto text = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  AddToLog(path, "## 2001-02-03: a\n\nOld.\n");
  EXPECT_EQ(text(), "# Experiment log\n\n## 2001-02-03: a\n\nOld.\n");
  AddToLog(path, "## 2002-02-03: b\n\nNew.\n");
  EXPECT_EQ(text(), "# Experiment log\n\n## 2002-02-03: b\n\nNew.\n\n## 2001-02-03: a\n\nOld.\n");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hotrow
