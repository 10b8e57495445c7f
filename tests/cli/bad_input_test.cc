// Flags, configuration files and data that are not what they should be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "tests/cli/small_model.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// As text of every kind; tests/run/settings_test.cc has them all.
TEST(Config, MistakesAreUserErrors) {
  const TemporaryDirectory directory;
  ExpectMistake({"train", "--seed", "0x10"}, {"--seed: '0x10' is not a decimal integer"});
  ExpectMistake({"train", "--config", directory.Write("c.toml", "[train]\n\nepoch = 3\n")},
                {"c.toml:3: epoch: unknown key, valid: auc-target"});
}

TEST(Config, OneFileServesAllCommands) {
  const SmallModel small;
  const std::string config = small.directory().Write(
      "all.toml", FileText(small.schema()) +
                      "[model]\nmodel = \"dlrm\"\nembedding_dim = 4\ndense_arch = [6, 4]\n"
                      "[train]\nbatch_size = 2\nepochs = 3\n[bench]\nsteps = 2\n"
                      "[generate]\nsamples = 4\n[plan]\nranks = 2\nsharding = \"table_wise\"\n");
  const auto runs = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"--config", config});
    const ProgramResult result = RunHotrow(args);
    EXPECT_EQ(result.exit_code, 0) << args.front() << result.err;
  };
  runs({"data", "info", "--data", small.data()});
  runs(small.Args("eval"));
  runs(small.Args("predict"));
  runs({"train", "--data", small.data(), "--max-steps", "1"});
  runs({"plan", "make", "--data", small.data()});
  runs({"doctor"});
  // Not the architecture that [model] names.
  ExpectMistake({"eval", "--data", small.data(), "--config", config}, {"--model: missing"});
  ExpectMistake({"eval", "--config", small.directory().Write("typo.toml", "[train]\nepoch = 1\n")},
                {"typo.toml:2: epoch: unknown key, valid: auc-target"});
}

TEST(Command, UnknownOnesAreNamed) {
  ExpectMistake({"foo"}, {"'foo' is no command; valid: train, eval, predict, bench, data, plan"});
  ExpectMistake({"--foo", "--data", "x"}, {"'--foo' is no command; valid: train"});
  ExpectMistake({"data", "generat"}, {"data: 'generat' is no subcommand; valid: generate, info"});
  ExpectMistake({"plan", "mak"}, {"plan: 'mak' is no subcommand; valid: make"});
  ExpectMistake({}, {"a command is missing; valid: train, eval"});
  ExpectMistake({"data"}, {"data: a subcommand is missing; valid: generate, info"});
}

TEST(Command, UnknownFlagsComeWithTheNearest) {
  ExpectMistake({"train", "--bacth-size", "3"},
                {"error: train: '--bacth-size' is no flag of it; the nearest is --batch-size\n"});
  ExpectMistake({"bench", "--steps", "2", "--tread", "2"},
                {"error: bench: '--tread' is no flag of it; the nearest is --threads\n"});
  ExpectMistake({"bench", "--treads=2"},
                {"error: bench: '--treads' is no flag of it; the nearest is --threads\n"});
  ExpectMistake({"plan", "make", "--rank", "2"},
                {"error: plan make: '--rank' is no flag of it; the nearest is --ranks\n"});
  ExpectMistake({"doctor", "--optimizer", "sgd"},
                {"error: doctor: '--optimizer' is no flag of it; `hotrow doctor --help` lists them\n"});
  ExpectMistake({"eval", "model"}, {"error: eval: 'model' is not expected here\n"});
  ExpectMistake({"--threads", "2", "train"},
                {"error: hotrow: '--threads' is not expected here; flags stand behind the command\n"});
  ExpectMistake({"plan", "--ranks=2", "make"},
                {"error: plan: '--ranks' is not expected here; flags stand behind the subcommand\n"});
}

TEST(Command, HelpNamesFlagsOfTwoWaysAndTheirDefault) {
  const ProgramResult help = RunHotrow({"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--shuffle (default), --no-shuffle\n"));
  EXPECT_THAT(help.out, ::testing::Not(HasSubstr("{")));
}

// Not after the making of tables that take long.
TEST(Train, AsksForNoMoreThanTheDataBeforeItMakesAModel) {
  const SmallModel small;
  const std::string schema = small.directory().Write(
      "wide.toml",
      "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\nencoding = \"hash\"\nrows = 1000000000000\n");
  ExpectMistake({"train", "--data", small.data(), "--schema", schema, "--tables", "eager"},
                {"batch size: 2048 is more than the data's 40 samples"});
  ExpectMistake({"train", "--data", small.data(), "--schema", schema, "--tables", "eager", "--batch-size",
                 "8", "--epochs", "0"},
                {"epochs: 0 is not at least 1"});
  ExpectMistake({"train", "--data", small.data(), "--schema", schema, "--batch-size", "0"},
                {"--batch-size: '0' is out of range; valid are integers from 1 to"});
}

// How many samples a file has that is streamed shows only at its end.
TEST(Train, RefusesABatchLargerThanAStreamedFile) {
  const SmallModel small;
  const std::string model = small.directory().File("never.safetensors");
  for (const char* ranks : {"1", "2"}) {
    for (const char* order : {"--shuffle", "--no-shuffle"}) {
      ExpectMistake({"train", "--data", small.data(), "--schema", small.schema(), order, "--ranks", ranks,
                     "--batch-size", "41", "--embedding-dim", "8", "--dense-arch", "8", "--over-arch", "4,1",
                     "--save", model},
                    {"data.csv: batch size: 41 is more than the data's 40 samples"});
    }
  }
  EXPECT_FALSE(std::filesystem::exists(model));
}

TEST(Config, NegatedFlagsAndListsMeanWhatTheySay) {
  const SmallModel small;
  const auto losses = [&](const std::string& config, const std::vector<std::string>& more) {
    std::vector<std::string> args = {"train",
                                     "--data",
                                     small.data(),
                                     "--schema",
                                     small.schema(),
                                     "--json",
                                     "-",
                                     "--batch-size",
                                     "8",
                                     "--config",
                                     small.directory().Write("c.toml", config)};
    args.insert(args.end(), more.begin(), more.end());
    const ProgramResult result = RunHotrow(args);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out)["losses"];
  };
  const std::string tower =
      "[model]\nembedding_dim = 4\ndense_arch = [6, 4]\nover_arch = \"5,1\"\ndcn_low_rank = 2\n";
  const Json in_order = losses(tower, {"--no-shuffle"});
  EXPECT_EQ(losses(tower + "[train]\nno_shuffle = true\n", {}), in_order);
  EXPECT_EQ(losses(tower + "[train]\nshuffle = false\n", {}), in_order);
  EXPECT_NE(losses(tower + "[train]\nno_shuffle = false\n", {}), in_order);
}

// Hours of training are not saved by `--save "$UNSET"`.
TEST(Command, EmptyTextsAreNoWayToLeaveAFlagOut) {
  const SmallModel small;
  for (const char* flag : {"--save", "--json", "--config", "--eval-data", "--schema"}) {
    ExpectMistake({"train", "--data", small.data(), flag, ""},
                  {std::string(flag) + ": the name of a file is empty"});
  }
  for (const char* flag : {"--profile-dir", "--format", "--dense-optimizer"})
    ExpectMistake({"train", "--data", small.data(), flag, ""}, {std::string(flag) + ": "});
  ExpectMistake({"train", "--config", small.directory().Write("c.toml", "save = \"\"\n")},
                {"c.toml:1: save: ", "the name of a file is empty"});
}

TEST(Command, FlagsAreGivenOnce) {
  ExpectMistake({"train", "--shuffle", "--no-shuffle"}, {"--shuffle: At Most 1"});
  ExpectMistake({"bench", "--quiet", "--quiet=false"}, {"--quiet: At Most 1"});
  ExpectMistake({"bench", "--steps", "3", "--steps", "4"}, {"--steps: At Most 1"});
}

TEST(Command, FlagsThatARunWouldNotReadAreMistakes) {
  const SmallModel small;
  const auto train = [&](const std::vector<std::string>& more, const std::vector<std::string>& parts) {
    std::vector<std::string> args = {"train", "--batch-size", "8"};
    args.insert(args.end(), more.begin(), more.end());
    ExpectMistake(args, parts);
  };
  for (const char* flag : {"--samples", "--multi-hot", "--ids"}) {
    const char* value = std::string(flag) == "--ids" ? "uniform" : "1";
    train({"--data", small.data(), "--schema", small.schema(), flag, value},
          {flag, ": --format csv does not read it; --format synthetic does"});
  }
  for (const char* flag : {"--cardinality", "--max-rows"}) {
    train({"--data", small.data(), "--schema", small.schema(), flag, "1"},
          {flag, ": --format csv does not read it; --format criteo or synthetic does"});
    ExpectMistake({"data", "info", "--data", small.data(), "--schema", small.schema(), flag, "1"}, {flag});
  }
  train({"--data", small.data(), "--format", "criteo", "--schema", small.schema()},
        {"--schema: --format criteo does not read it; --format csv does"});
  train({"--data", small.data(), "--format", "synthetic"}, {"--data: --format synthetic does not read it"});
  train({"--format", "synthetic", "--no-shuffle"}, {"--shuffle: --format synthetic does not read it"});
  train({"--data", small.data(), "--schema", small.schema(), "--eval-every", "1"},
        {"--eval-every: a run without --eval-data does not read it"});
  ExpectMistake({"data", "generate", "--out", small.directory().File("new"), "--test-samples", "5"},
                {"--test-samples: a run without --test-out"});
  ExpectMistake(
      {"plan", "make", "--data", small.data()},
      {"--data: --format synthetic, the default here, does not read it; --format criteo or csv does"});
  ExpectMistake({"plan", "make", "--data", small.data(), "--format", "synthetic"}, {"--data: "});
  EXPECT_FALSE(std::filesystem::exists(small.directory().File("new")));
}

TEST(Config, KeysThatARunWouldNotReadArePassedOver) {
  const SmallModel small;
  const std::string config = small.directory().Write("c.toml", "samples = 7\ncardinality = \"mlperf\"\n");
  const ProgramResult result = RunHotrow({"train", "--data", small.data(), "--schema", small.schema(),
                                          "--batch-size", "8", "--config", config, "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

class BadData : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { small_ = std::make_unique<SmallModel>(); }
  static void TearDownTestSuite() { small_.reset(); }
  static void ExpectRefused(const std::string& data, const std::vector<std::string>& parts) {
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"train", "--schema", small_->schema(), "--batch-size", "1"},
             {"eval", "--model", small_->model()},
             {"predict", "--model", small_->model(), "--out", small_->directory().File("never")},
             {"data", "info", "--schema", small_->schema()}}) {
      std::vector<std::string> all = args;
      all.insert(all.end(), {"--data", data});
      ExpectMistake(all, parts);
    }
    EXPECT_FALSE(std::filesystem::exists(small_->directory().File("never")));
  }
  static std::string Write(const std::string& text) { return small_->directory().Write("bad.csv", text); }
  static std::unique_ptr<SmallModel> small_;
};
std::unique_ptr<SmallModel> BadData::small_;

// A day that is still to be judged.
TEST_F(BadData, OfPredictionMayLackLabels) {
  std::string unlabelled = "x,n,u\n";
  for (int i = 0; i < 40; ++i)
    unlabelled += std::to_string(i) + "," + std::to_string(i % 8) + ",u" + std::to_string(i % 5) + "\n";
  const std::string data = small_->directory().Write("unlabelled.csv", unlabelled);
  const ProgramResult labelled = RunHotrow(small_->Args("predict"));
  const ProgramResult result = RunHotrow({"predict", "--model", small_->model(), "--data", data});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, labelled.out);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 40);
}

TEST_F(BadData, PlacesThatAreNoFiles) {
  const std::string pipe = small_->directory().File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ExpectMistake({"train", "--data", pipe, "--schema", small_->schema(), "--batch-size", "8"},
                {pipe + ": is a pipe, which is read once, and the schema's vocabularies"});
  ExpectMistake({"train", "--data", small_->data(), "--eval-data", pipe, "--schema", small_->schema(),
                 "--batch-size", "8"},
                {pipe + ": is a pipe; a file is needed, since data are read more than once"});
  ExpectRefused("/dev/zero", {"/dev/zero: is a device; a file is needed"});
  ExpectRefused(small_->directory().path(), {": is a directory; a file is needed"});
  ExpectRefused("", {"data: the name of a file is empty"});
  for (const std::string& schema : {small_->directory().path(), std::string("/dev/zero")}) {
    ExpectMistake({"train", "--data", small_->data(), "--schema", schema}, {"--schema " + schema + ": is "});
  }
  ExpectRefused(small_->directory().File("none.csv"), {"none.csv: cannot open: No such file or directory"});
}

TEST_F(BadData, FilesThatAreNoTable) {
  ExpectRefused(Write(""), {"bad.csv: the file is empty"});
  ExpectRefused(Write("\xef\xbb\xbf"), {"bad.csv: the file is empty"});
  ExpectRefused(Write("\r\n\r\n"), {"bad.csv: the file is empty"});
  ExpectRefused(Write("y,x,n,u\r\n"), {"bad.csv: the file has no samples"});
  ExpectRefused(Write("y,x,n,u,x\n1,2,3,u1,4\n"),
                {"bad.csv:1: column 5 (x): column 2 has this name already"});
  ExpectRefused(Write("y,x,n\n1,2,3\n"), {"bad.csv:1: no column 'u'; the columns are y, x, n"});
  ExpectRefused(Write("y,x,n,u\n1,2,3,u1\n1,2\n"), {"bad.csv:3: 2 fields; the file has 4 columns"});
  ExpectRefused(Write("y,x,n,u\n1,1e400,3,u1\n"), {"bad.csv:2: column 2 (x): '1e400' is not finite"});
  ExpectRefused(Write("y,x,n,u\n1,\"\n\x1b]0;\",3,u1\n"),
                {"bad.csv:2: column 2 (x): '\\n\\x1b]0;' is not a number"});
  ExpectRefused(Write("y,x,n,u\n1," + std::string(100'000, '7') + "x,3,u1\n"), {"…' is not a number"});
  ExpectRefused(Write(std::string("y,x,n,u\n1,2\0,3,u1\n", 18)),
                {"bad.csv:2: column 2 (x): '2\\x00' is not a number"});
  std::string wide = "c0";
  for (int i = 1; i < 50'000; ++i) wide += ",c" + std::to_string(i);
  ExpectRefused(Write(wide + "\n" + wide + "\n"), {"no column '", "… (50000 in all)"});
}

TEST_F(BadData, TooSmallForADoubleIsZero) {
  const std::string data = Write("y,x,n,u\n1,1e-400,3,u1\n0,0,3,u1\n");
  const ProgramResult result = RunHotrow({"predict", "--model", small_->model(), "--data", data});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::size_t half = result.out.size() / 2;
  EXPECT_EQ(result.out.substr(0, half), result.out.substr(half));
}

TEST_F(BadData, OneClassHasNoAuc) {
  for (const char* label : {"0", "1"}) {
    const std::string data = Write(std::string("y,x,n,u\n") + label + ",1,3,u1\n" + label + ",2,4,u2\n");
    const ProgramResult text = RunHotrow({"eval", "--model", small_->model(), "--data", data});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("AUC n/a: only one class is present"));
    EXPECT_THAT(text.out, HasSubstr("normalized entropy n/a"));
    EXPECT_THAT(text.out, ::testing::Not(HasSubstr("nan")));
    const ProgramResult json =
        RunHotrow({"eval", "--model", small_->model(), "--data", data, "--json", "-", "--quiet"});
    const Json result = Json::parse(json.out);
    EXPECT_TRUE(result["auc"].is_null());
    EXPECT_TRUE(result["normalized_entropy"].is_null());
    EXPECT_TRUE(result["log_loss"].is_number());
  }
}

TEST_F(BadData, IdsOutsideTheirTable) {
  const std::string data = Write("y,x,n,u\n1,1,3,u1\n0,2,-1,u1\n");
  for (const char* command : {"eval", "predict"}) {
    ExpectMistake({command, "--model", small_->model(), "--data", data},
                  {"bad.csv:3: column 3 (n): id -1 is out of range; valid ids are 0 to 7"});
    for (const char* mode : {"skip", "wrap"}) {
      EXPECT_EQ(RunHotrow({command, "--model", small_->model(), "--data", data, "--bad-ids", mode}).exit_code,
                0);
    }
  }
  ExpectMistake({"train", "--data", data, "--schema", small_->schema(), "--batch-size", "2",
                 "--embedding-dim", "4", "--dense-arch", "4", "--over-arch", "4,1"},
                {"bad.csv:3: column 3 (n): id -1 is out of range; valid ids are 0 to 7"});
}

}  // namespace
}  // namespace hotrow
