// Models that are damaged, or were not made together with their encoder: refused by name before a prediction.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tests/cli/small_model.h"
#include "tests/data/held_file.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;

class DamagedModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { small_ = std::make_unique<SmallModel>(); }
  static void TearDownTestSuite() { small_.reset(); }
  static void ExpectRefused(const std::string& model, const std::vector<std::string>& parts) {
    std::vector<std::string> all = {model + ": "};
    all.insert(all.end(), parts.begin(), parts.end());
    for (const char* command : {"eval", "predict"}) {
      ExpectMistake({command, "--model", model, "--data", small_->data()}, all);
    }
  }
  static void ExpectEncoderRefused(const std::function<void(Json&)>& change,
                                   const std::vector<std::string>& parts) {
    std::vector<std::string> all = {"hotrow.encoder: "};
    all.insert(all.end(), parts.begin(), parts.end());
    ExpectRefused(small_->WithMetadata("changed", "hotrow.encoder", change), all);
  }
  static void ExpectModelRefused(const std::function<void(Json&)>& change,
                                 const std::vector<std::string>& parts) {
    std::vector<std::string> all = {"hotrow.model"};
    all.insert(all.end(), parts.begin(), parts.end());
    ExpectRefused(small_->WithMetadata("changed", "hotrow.model", change), all);
  }
  static std::unique_ptr<SmallModel> small_;
};
std::unique_ptr<SmallModel> DamagedModel::small_;

TEST_F(DamagedModel, TheSmallOneIsFine) {
  const ProgramResult result = RunHotrow(small_->Args("eval", {"--json", "-"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["samples"], 40);
  EXPECT_EQ(RunHotrow({"eval", "--model", small_->WithHeader("same", [](Json&) {}), "--data", small_->data()})
                .exit_code,
            0);
}

TEST_F(DamagedModel, AnEncoderThatIsNotItsModels) {
  ExpectEncoderRefused([](Json& e) { e["dense"].clear(); }, {"gives 0 dense inputs, the model has 1"});
  ExpectEncoderRefused([](Json& e) { e["sparse"].erase(1); }, {"gives 1 features, the model has 2"});
  ExpectEncoderRefused([](Json& e) { e["sparse"][0]["name"] = "m"; }, {"feature 0 is 'm', in the model 'n'"});
  ExpectEncoderRefused([](Json& e) { e["sparse"][0]["rows"] = 9; },
                       {"'n' has 9 ids, its table 't_n' 8 rows"});
  ExpectEncoderRefused([](Json& e) { e["sparse"][0]["encoding"] = "embedding"; },
                       {"encoding is \"embedding\", which this build does not know"});
  ExpectEncoderRefused([](Json& e) { e["version"] = 7; }, {"version 7"});
  ExpectEncoderRefused([](Json& e) { e["format"] = "avro"; }, {"\"avro\""});
  ExpectEncoderRefused([](Json& e) { e = Json::array(); }, {"damaged JSON"});
  ExpectEncoderRefused([](Json& e) { e.erase("label"); }, {"damaged JSON", "label"});
  ExpectRefused(small_->WithHeader("none", [](Json& h) { h["__metadata__"].erase("hotrow.encoder"); }),
                {"trained on generated data"});
}

TEST_F(DamagedModel, AConfigurationThatIsNone) {
  ExpectModelRefused([](Json& m) { m["dcn_num_layers"] = 1'000'000; },
                     {"dcn_num_layers is 1000000; it must be at most 1024"});
  ExpectModelRefused([](Json& m) { m["model"] = "dlrm4"; }, {"dlrm4"});
  ExpectModelRefused([](Json& m) { m["tables"][0]["pooling"] = "max"; }, {"max"});
  ExpectModelRefused([](Json& m) { m["tables"][0]["num_embeddings"] = -1; }, {"t_n"});
  ExpectModelRefused([](Json& m) { m["tables"][0]["embedding_dim"] = "four"; },
                     {"is not a model configuration"});
  ExpectModelRefused([](Json& m) { m["version"] = 3; }, {"version 3 is unknown to this build"});
  const std::string larger = small_->WithMetadata("larger", "hotrow.model", [](Json& m) {
    m["over_arch"] = std::vector<int>{5, 1};
  });
  ExpectRefused(larger, {"tensor over_arch.model.0._mlp.0._linear.weight: shape", "is not the model's"});
  ExpectRefused(small_->WithHeader("none", [](Json& h) { h.erase("__metadata__"); }),
                {"not a Hotrow model: its metadata has no hotrow.model"});
}

TEST_F(DamagedModel, WeightsThatAreNotNumbers) {
  std::string bytes = FileText(small_->model());
  for (const float bad : {NAN, -INFINITY}) {
    std::memcpy(bytes.data() + bytes.size() - sizeof(bad), &bad, sizeof(bad));  // the last dense parameter
    ExpectRefused(small_->directory().Write("nan", bytes), {"tensor ", "weights are finite"});
  }
  bytes = FileText(small_->model());
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const float nan = NAN;
  std::memcpy(bytes.data() + 8 + header, &nan, sizeof(nan));  // the first table
  ExpectRefused(small_->directory().Write("nan", bytes), {".t_n.weight: holds nan, weights are finite"});
}

TEST_F(DamagedModel, FilesThatAreNone) {
  const std::string bytes = FileText(small_->model());
  ExpectRefused(small_->directory().File("no_such"), {"no such file"});
  ExpectRefused(small_->directory().path(), {"not a file"});
  ExpectRefused("/dev/null", {"not a file"});
  ExpectRefused(small_->directory().Write("empty", ""), {"0 bytes are too few"});
  ExpectRefused(small_->directory().Write("short", bytes.substr(0, bytes.size() - 1)), {"bytes"});
  ExpectRefused(small_->directory().Write("long", bytes + "x"), {"bytes"});
  ExpectRefused(small_->data(), {"not a safetensors file"});
}

// The weights of one and the vocabularies of the other would fit one another.
TEST_F(DamagedModel, OneThatIsReplacedWhileItIsRead) {
  const std::string model = small_->WithHeader("model", [](Json&) {});
  const std::string other = small_->WithHeader("other", [](Json&) {});
  const HeldFile held(small_->data(), [&] { std::filesystem::rename(other, model); });
  if (!held.held()) GTEST_SKIP() << "no leases on files here";
  ExpectMistake({"eval", "--model", model, "--data", small_->data()},
                {model + ": changed while it was read"});
}

TEST_F(DamagedModel, HugeLogitsAreAnErrorAndNotInfinity) {
  // Finite weights whose products are not.
  std::string bytes = FileText(small_->model());
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const float huge = 3e38F;
  for (std::size_t at = 8 + header; at < bytes.size(); at += sizeof(huge)) {
    std::memcpy(bytes.data() + at, &huge, sizeof(huge));
  }
  const std::string model = small_->directory().Write("huge", bytes);
  for (const char* command : {"eval", "predict"}) {
    ExpectMistake({command, "--model", model, "--data", small_->data()},
                  {"the logit of sample 0 is ", "the model has diverged"});
  }
}

}  // namespace
}  // namespace hotrow
