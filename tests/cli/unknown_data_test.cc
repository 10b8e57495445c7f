// Data that a saved model has not been trained on, and data out of a pipe.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tests/cli/small_model.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class UnknownData : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { small_ = std::make_unique<SmallModel>(); }
  static void TearDownTestSuite() { small_.reset(); }
  // As the small model's, but a quarter of its texts are new.
  static std::string Other() {
    std::string text = "y,x,n,u\n";
    for (int i = 0; i < 40; ++i) {
      text += std::to_string(i % 3 == 0) + "," + std::to_string(i) + "," + std::to_string(i % 8) + "," +
              (i % 4 == 0 ? "new" : "u1") + "\n";
    }
    return text;
  }
  static void ExpectQuarter(const ProgramResult& result) {
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json unknown = Json::parse(result.out)["unknown_values"];
    ASSERT_EQ(unknown.size(), 1U);
    EXPECT_EQ(unknown[0]["feature"], "u");
    EXPECT_EQ(unknown[0]["values"], 40);
    EXPECT_EQ(unknown[0]["unknown"], 10);
    EXPECT_EQ(unknown[0]["share"], 0.25);
    EXPECT_THAT(result.err,
                HasSubstr("warning: feature 'u': 25.0% of its 40 values are not in the vocabulary"));
  }
  static std::unique_ptr<SmallModel> small_;
};
std::unique_ptr<SmallModel> UnknownData::small_;

TEST_F(UnknownData, IsCountedByEveryCommandThatReadsIt) {
  const std::string other = small_->directory().Write("other.csv", Other());
  ExpectQuarter(RunHotrow({"eval", "--model", small_->model(), "--data", other, "--json", "-"}));
  ExpectQuarter(RunHotrow({"predict", "--model", small_->model(), "--data", other, "--json", "-", "--out",
                           small_->directory().File("out.txt")}));
  ExpectQuarter(RunHotrow({"data", "info", "--model", small_->model(), "--data", other, "--json", "-"}));
  ExpectQuarter(RunHotrow({"train",
                           "--data",
                           small_->data(),
                           "--eval-data",
                           other,
                           "--schema",
                           small_->schema(),
                           "--batch-size",
                           "8",
                           "--epochs",
                           "2",
                           "--eval-every",
                           "1",
                           "--embedding-dim",
                           "4",
                           "--dense-arch",
                           "4",
                           "--over-arch",
                           "4,1",
                           "--dcn-num-layers",
                           "1",
                           "--dcn-low-rank",
                           "2",
                           "--json",
                           "-"}));
  const ProgramResult known = RunHotrow(small_->Args("eval", {"--json", "-"}));
  EXPECT_EQ(Json::parse(known.out)["unknown_values"][0]["unknown"], 0);
  EXPECT_THAT(known.err, Not(HasSubstr("warning")));
}

TEST_F(UnknownData, OfAModelsIsReadAsTheModelDoes) {
  ExpectMistake(
      {"data", "info", "--model", small_->model(), "--data", small_->data(), "--schema", small_->schema()},
      {"--schema: --model does not read it"});
  ExpectMistake({"data", "info", "--model", small_->model()}, {"--data: missing"});
}

// A model whose data share a table, weigh values and weigh samples is trained, saved, and read back.
TEST_F(UnknownData, WeightsAndSharedTablesComeBackWithTheModel) {
  const std::string schema = small_->directory().Write(
      "shared.toml",
      "[data]\nlabel = \"y\"\nsample_weight = \"w\"\n[[data.sparse]]\ncolumn = \"item\"\n"
      "[[data.sparse]]\ncolumn = \"history\"\nseparator = \"|\"\nweights = \"hw\"\ntable = \"t_item\"\n");
  std::string text = "y,w,item,history,hw\n";
  for (int i = 0; i < 40; ++i) {
    const std::string a = std::to_string(i % 3);
    text += std::to_string(i % 2) + "," + std::to_string(i % 4) + ",i" + a + ",i" + a + "|i7,0.5|" + a + "\n";
  }
  const std::string data = small_->directory().Write("shared.csv", text);
  const std::string model = small_->directory().File("shared.safetensors");
  const ProgramResult trained = RunHotrow(
      {"train", "--data",          data, "--eval-data",  data,  "--schema",    schema, "--batch-size",
       "8",     "--embedding-dim", "4",  "--dense-arch", "4",   "--over-arch", "4,1",  "--dcn-num-layers",
       "1",     "--dcn-low-rank",  "2",  "--save",       model, "--json",      "-"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult evaluated = RunHotrow({"eval", "--model", model, "--data", data, "--json", "-"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  const Json want = Json::parse(trained.out)["evaluations"].back();
  const Json got = Json::parse(evaluated.out);
  EXPECT_EQ(got["auc"], want["auc"]);
  EXPECT_NE(got["label_rate"], 0.5) << "it is weighted";
  EXPECT_THAT(FileText(model), HasSubstr("embedding_bags.t_item.weight"));
  EXPECT_THAT(FileText(model), Not(HasSubstr("t_history")));
}

TEST_F(UnknownData, APipeIsReadLikeAFile) {
  const std::string text = FileText(small_->data());
  for (const char* command : {"eval", "predict"}) {
    const ProgramResult want = RunHotrow(small_->Args(command));
    const Pipe pipe("pipe", text);
    const ProgramResult got = RunHotrow({command, "--model", small_->model(), "--data", pipe.path()});
    EXPECT_EQ(got.exit_code, 0) << got.err;
    EXPECT_EQ(got.out, want.out);
  }
}

TEST_F(UnknownData, APipeTrainsOneEpochOrIsShuffledInMemory) {
  const std::string schema = small_->directory().Write(
      "hash.toml", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\nencoding = \"hash\"\nrows = 9\n");
  const std::string text = FileText(small_->data());
  const auto args = [&](const std::string& data, const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "train", "--data",       data, "--schema",    schema, "--batch-size",     "8", "--embedding-dim",
        "4",     "--dense-arch", "4",  "--over-arch", "4,1",  "--dcn-num-layers", "1", "--dcn-low-rank",
        "2",     "--json",       "-"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{"--no-shuffle"}, {"--epochs", "3"}}) {
    const ProgramResult want = RunHotrow(args(small_->data(), how));
    const Pipe pipe("pipe", text);
    const ProgramResult got = RunHotrow(args(pipe.path(), how));
    ASSERT_EQ(got.exit_code, 0) << got.err;
    EXPECT_EQ(Json::parse(got.out)["weights_hash"], Json::parse(want.out)["weights_hash"]);
  }
  const Pipe pipe("pipe", text);
  ExpectMistake(args(pipe.path(), {"--no-shuffle", "--epochs", "2"}),
                {pipe.path() + ": comes through a pipe, which is read once: 2 epochs need a file"});
}

}  // namespace
}  // namespace hotrow
