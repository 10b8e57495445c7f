// `hotrow data`: generating and describing data sets, and what it says to a mistake.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/data/shared_data.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Data, GenerateThenInfo) {
  const TemporaryDirectory directory;
  const std::string train = directory.File("train.tsv");
  const std::string test = directory.File("test.csv");
  const ProgramResult made = RunHotrow({"data", "generate", "--out", train, "--samples", "3000", "--test-out",
                                        test, "--test-samples", "1000", "--seed", "4", "--json", "-"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json report = Json::parse(made.out);
  EXPECT_EQ(report["command"], "data generate");
  EXPECT_EQ(report["train"]["samples"], 3000);
  EXPECT_EQ(report["test"]["samples"], 1000);
  EXPECT_NEAR(report["train"]["best_auc"].get<double>(), 0.81, 0.04);
  EXPECT_THAT(made.err, HasSubstr("the best possible AUC is"));
  EXPECT_THAT(directory.List(), ElementsAre("test.csv", "train.tsv"));
  const std::string text = Read(train);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3000);

  const ProgramResult counted =
      RunHotrow({"data", "info", "--data", train, "--max-rows", "200", "--json", "-"});
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  const Json info = Json::parse(counted.out);
  EXPECT_EQ(info["samples"], 3000);
  EXPECT_EQ(info["label_rate"], report["train"]["label_rate"]);
  ASSERT_EQ(info["dense"].size(), 13U);
  EXPECT_EQ(info["dense"][12]["name"], "log(I13 + 3)");
  ASSERT_EQ(info["features"].size(), 26U);
  EXPECT_EQ(info["features"][5]["rows"], 3);
  EXPECT_EQ(info["features"][5]["distinct_ids"], 3);
  EXPECT_EQ(info["features"][0]["out_of_range"], 0);
}

TEST(Data, TheSameSeedWritesTheSameBytes) {
  const TemporaryDirectory directory;
  const auto make = [&](const std::string& name, const std::string& seed) {
    const ProgramResult made = RunHotrow({"data", "generate", "--out", directory.File(name), "--samples",
                                          "50", "--format", "csv", "--seed", seed, "--quiet"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.out + made.err, "");
    return Read(directory.File(name));
  };
  const std::string first = make("a.csv", "1");
  EXPECT_THAT(first, ::testing::StartsWith("label,I1,"));
  EXPECT_EQ(first, make("b.csv", "1"));
  EXPECT_NE(first, make("c.csv", "2"));
}

// What has no value is null and said so: a 0 would be a figure.
TEST(Data, OneClassHasNoBestAuc) {
  const TemporaryDirectory directory;
  const ProgramResult made =
      RunHotrow({"data", "generate", "--out", directory.File("one.tsv"), "--samples", "1", "--json", "-"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(Json::parse(made.out)["train"]["best_auc"].is_null());
  EXPECT_THAT(made.err, HasSubstr("the best possible AUC is n/a: only one class is present ("));

  const std::string schema =
      directory.Write("s.toml", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n");
  const std::string data = directory.Write("d.csv", "u,y\na,1\nb,0\n");
  const std::string one_class = directory.Write("one.csv", "u,y\na,1\nb,1\n");
  for (const auto& [eval_data, defined] : {std::pair(data, true), std::pair(one_class, false)}) {
    const ProgramResult trained = RunHotrow(
        {"train", "--data",      data,  "--schema", schema, "--eval-data",     eval_data, "--batch-size",
         "2",     "--epochs",    "2",   "--model",  "dlrm", "--embedding-dim", "4",       "--dense-arch",
         "4",     "--over-arch", "4,1", "--json",   "-",    "--quiet"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const Json json = Json::parse(trained.out);
    EXPECT_EQ(json["evaluations"].size(), 2U);
    EXPECT_EQ(json["best_auc"].is_number(), defined) << json["best_auc"];
    EXPECT_EQ(json["auc"].is_number(), defined);
  }
}

// Repeated, in a list, in a file of settings: each names the same three files in this order.
TEST(Data, FilesMayHaveACommaInTheirNames) {
  const TemporaryDirectory directory;
  const std::string schema =
      directory.Write("s.toml", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n");
  const std::string odd = directory.Write("a,b.csv", "u,y\na,1\n");
  const std::string c = directory.Write("c.csv", "u,y\nb,1\n");
  const std::string d = directory.Write("d.csv", "u,y\nc,0\n");
  const std::string config =
      directory.Write("c.toml", "[info]\ndata = [\"" + odd + "\", \"" + c + "\", \"" + d + "\"]\n");
  for (const std::vector<std::string>& data : {std::vector<std::string>{"--data", odd, "--data", c + "," + d},
                                               {"--data", odd, "--data", c, "--data", d},
                                               {"--config", config}}) {
    std::vector<std::string> args = {"data", "info", "--schema", schema, "--json", "-", "--quiet"};
    args.insert(args.end(), data.begin(), data.end());
    const ProgramResult result = RunHotrow(args);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json json = Json::parse(result.out);
    EXPECT_EQ(json["paths"], Json({odd, c, d}));
    EXPECT_EQ(json["samples"], 3);
  }
  ExpectMistake({"data", "info", "--schema", schema, "--data", c + ","},
                {"--data: the name of a file is empty"});
}

TEST(Data, InfoReadsCsvByASchema) {
  const TemporaryDirectory directory;
  const std::string schema = directory.Write(
      "s.toml", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\nseparator = \"|\"\n");
  const std::string data = directory.Write("d.csv", "u,y\na|b,1\n,0\na,0\n");
  const ProgramResult result = RunHotrow({"data", "info", "--data", data, "--schema", schema});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("3 samples, 33.33% labelled 1"));
}

TEST(Data, InfoNamesTheNumbersAsTheModelReadsThem) {
  const TemporaryDirectory directory;
  const std::string schema = directory.Write(
      "s.toml",
      "[data]\nlabel = \"y\"\n[[data.dense]]\ncolumn = \"price\"\ntransform = \"log1p\"\nscale = 0.5\n"
      "[[data.dense]]\ncolumn = \"age\"\n[[data.sparse]]\ncolumn = \"u\"\n");
  const std::string data = directory.Write("d.csv", "price,age,u,y\n2,30,a,1\n4,50,b,0\n");
  const ProgramResult result = RunHotrow({"data", "info", "--data", data, "--schema", schema, "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json dense = Json::parse(result.out)["dense"];
  EXPECT_EQ(dense[0]["name"], "log1p(price * 0.5)");
  EXPECT_EQ(dense[1]["name"], "age");
  EXPECT_THAT(result.err, HasSubstr("\nage "));
  const ProgramResult unsaid = RunHotrow({"data", "info", "--data", data});
  EXPECT_EQ(unsaid.exit_code, 2);
  EXPECT_THAT(unsaid.err, HasSubstr("other files need a --schema"));
}

TEST(Data, MistakesExitWithTwoAndLeaveNothing) {
  const TemporaryDirectory directory;
  const std::string out = directory.File("f.tsv");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"data"}, "subcommand"},
      {{"data", "generate"}, "--out: missing"},
      {{"data", "generate", "--out", out, "--format", "npy"}, "'npy' is none of criteo, csv"},
      {{"data", "generate", "--out", out, "--samples", "0"},
       "--samples: '0' is out of range; valid are integers from 1"},
      {{"data", "generate", "--out", out, "--rows", "1,2"}, "2 features' rows; 26 are needed"},
      {{"data", "generate", "--out", out, "--test-out", out},
       "is the file of --out too, which it would overwrite"},
      {{"data", "generate", "--out", directory.path()}, "is a directory"},
      {{"data", "generate", "--out", "-"}, "--out -: is written whole or not at all"},
      {{"data", "generate", "--out", out, "--samples", "1000000000000000"},
       "the true log-odds of 1000000000000000 samples: "},
      {{"data", "generate", "--out", "/no/such/dir/f"}, "--out /no/such/dir/f: no directory /no/such/dir"},
      {{"data", "info"}, "--data: missing"},
      {{"data", "info", "--data", out}, "No such file or directory"},
      {{"data", "info", "--data", directory.path()}, "is a directory; a file is needed"},
      {{"data", "info", "--data", out, "--format", "parquet"}, "'parquet' is none of criteo, csv"},
      {{"data", "info", "--data", out, "--format", "synthetic"}, "'synthetic' is none of criteo, csv"},
  };
  for (const auto& [args, message] : cases) {
    const ProgramResult result = RunHotrow(args);
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_THAT(result.err, ::testing::StartsWith("error: "));
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(directory.List(), ElementsAre());
  }
}

// Each example is a whole configuration: nothing but the data is to be added.
TEST(Examples, TrainTheModelsTheyDescribe) {
  for (const auto& [example, data] :
       {std::pair{"avazu.toml", "avazu_100.csv"}, std::pair{"taobao.toml", "taobao_ads_100.csv"},
        std::pair{"movielens_100k.toml", "movielens_100k/valid.csv"}}) {
    const std::string path = SharedData(data);
    if (path.empty()) GTEST_SKIP() << data << " is not here";
    const ProgramResult result =
        RunHotrow({"train", "--config", ExamplePath(example), "--data", path, "--eval-data", path,
                   "--batch-size", "50", "--epochs", "1", "--max-steps", "4", "--json", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(Json::parse(result.out)["auc"].get<double>(), 0.0) << example;
  }
}

}  // namespace
}  // namespace hotrow
