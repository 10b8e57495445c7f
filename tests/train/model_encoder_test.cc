// The encoder in a model's file: its vocabularies in the header where they are small, else as tensors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "hotrow/base/error.h"
#include "hotrow/data/csv_encoder.h"
#include "hotrow/files/safetensors.h"
#include "hotrow/train/model_file.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

SparseColumn Fitted(const std::string& name, std::vector<std::string> vocabulary) {
  SparseColumn sparse;
  sparse.column = sparse.name = name;
  sparse.rows = std::ssize(vocabulary) + 1;
  sparse.vocabulary = std::move(vocabulary);
  sparse.fitted = true;
  return sparse;
}

// `values` texts of 1000 bytes, of all kinds, and a small vocabulary beside.
CsvEncoder EncoderOf(std::int64_t values) {
  std::vector<std::string> texts = {"", "a", std::string("\0\n\"\xff\xfe", 5)};
  for (std::int64_t i = 0; i < values; ++i) texts.push_back(std::to_string(i) + std::string(1000, 'v'));
  CsvSchema schema;
  schema.label = ParseLabelRule("y");
  schema.sparse = {Fitted("large", std::move(texts)), Fitted("small", {"x", "y"})};
  return CsvEncoder(schema);
}

class ModelEncoder : public ::testing::Test {
 protected:
  ~ModelEncoder() override { std::remove(path_.c_str()); }

  Trainer& TrainerOf(const CsvEncoder& encoder) {
    trainer_.emplace(SmallTrainer(encoder.description()), pool_);
    return *trainer_;
  }
  std::vector<std::string> Read() {
    const ModelFileInfo info = ReadModelInfo(path_);
    return dynamic_cast<const CsvEncoder&>(*info.encoder).schema().sparse[0].vocabulary;
  }
  // The same file, its tensors and metadata changed.
  void Rewrite(const std::string& tensor, TensorType type, const std::string& bytes) {
    std::vector<SafetensorsWriter::Tensor> tensors;
    std::vector<std::vector<char>> data;
    SafetensorsReader file(path_);
    for (const auto& [name, info] : file.tensors()) {
      if (!name.starts_with("hotrow.")) continue;
      tensors.push_back({name, info.shape, info.type});
      if (name == tensor) {
        tensors.back() = {name, {std::ssize(bytes) / (type == TensorType::kI64 ? 8 : 1)}, type};
        data.emplace_back(bytes.begin(), bytes.end());
      } else if (info.type == TensorType::kI64) {
        const auto offsets = file.ReadI64(name);
        const auto* begin = reinterpret_cast<const char*>(offsets.data());
        data.emplace_back(begin, begin + 8 * offsets.size());
      } else {
        data.push_back(file.ReadU8(name));
      }
    }
    SafetensorsWriter writer(path_, tensors, file.metadata());
    for (const auto& part : data) writer.Append(part.data(), std::ssize(part));
    writer.Finish();
  }

  std::string path_ = ::testing::TempDir() + "/model_encoder." + std::to_string(getpid()) + ".safetensors";
  ThreadPool pool_{1};
  std::optional<Trainer> trainer_;
};

TEST_F(ModelEncoder, SmallVocabulariesStandInTheHeader) {
  const CsvEncoder encoder = EncoderOf(10);
  SaveModel(TrainerOf(encoder), path_, &encoder);
  const SafetensorsReader file(path_);
  for (const auto& [name, info] : file.tensors()) EXPECT_FALSE(name.starts_with("hotrow.")) << name;
  EXPECT_EQ(Read(), encoder.schema().sparse[0].vocabulary);
}

TEST_F(ModelEncoder, LargeOnesAreTensorsAndComeBackByteForByte) {
  const CsvEncoder encoder = EncoderOf(1100);
  Trainer& trainer = TrainerOf(encoder);
  const std::int64_t bytes = CheckSave(trainer, path_, &encoder);
  SaveModel(trainer, path_, &encoder);
  SafetensorsReader file(path_);
  EXPECT_LT(file.metadata().at("hotrow.encoder").size(), 2000U);
  EXPECT_EQ(file.Info("hotrow.vocabulary.large.offsets").elements(), 1104);
  EXPECT_EQ(file.Info("hotrow.vocabulary.small.bytes").elements(), 2);
  for (const auto& [name, info] : file.tensors()) {  // as readers that map the file need it
    EXPECT_EQ(info.begin % (info.type == TensorType::kI64   ? 8
                            : info.type == TensorType::kF32 ? 4
                                                            : 1),
              0)
        << name;
    EXPECT_LE(info.end, bytes);
  }
  EXPECT_EQ(Read(), encoder.schema().sparse[0].vocabulary);
  const std::uint64_t hash = trainer.WeightsHash();
  TrainerConfig config = trainer.config();
  config.seed = 99;
  Trainer loaded(config, pool_);
  LoadModel(loaded, path_);
  EXPECT_EQ(loaded.WeightsHash(), hash);
}

// What the header could not hold.
TEST_F(ModelEncoder, AHundredThousandLongTextsAreSavedAndRead) {
  const CsvEncoder encoder = EncoderOf(110'000);
  SaveModel(TrainerOf(encoder), path_, &encoder);
  EXPECT_EQ(Read().size(), 110'003U);
}

TEST_F(ModelEncoder, DamagedVocabulariesAreErrorsNamingTheTensor) {
  const CsvEncoder encoder = EncoderOf(1100);
  const std::string offsets = "hotrow.vocabulary.small.offsets";
  const auto numbers = [](const std::vector<std::int64_t>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), 8 * values.size());
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {numbers({0, 1, 3}), "does not cut the 2 bytes"},
      {numbers({0, 3, 2}), "does not cut"},
      {numbers({1, 1, 2}), "does not cut"},
      {numbers({0, -1, 2}), "does not cut"},
      {numbers({}), "does not cut"},
      {numbers({0, 2}), "has 1 values, not 2"},
      {numbers({0, 1, 1, 2}), "has 3 values, not 2"}};
  for (const auto& [bytes, message] : cases) {
    SaveModel(TrainerOf(encoder), path_, &encoder);
    Rewrite(offsets, TensorType::kI64, bytes);
    EXPECT_THAT([&] { ReadModelInfo(path_); }, ThrowsMessage<Error>(HasSubstr(message)));
  }
  SaveModel(TrainerOf(encoder), path_, &encoder);
  Rewrite(offsets, TensorType::kU8, "abc");
  EXPECT_THAT([&] { ReadModelInfo(path_); }, ThrowsMessage<Error>(HasSubstr(offsets + "' is U8")));
  SaveModel(TrainerOf(encoder), path_, &encoder);
  Rewrite("hotrow.vocabulary.small.bytes", TensorType::kU8, "");
  EXPECT_THAT([&] { ReadModelInfo(path_); }, ThrowsMessage<Error>(HasSubstr("does not cut the 0 bytes")));
}

TEST_F(ModelEncoder, AnotherModelsIsAnError) {
  const CsvEncoder encoder = EncoderOf(10);
  const CsvEncoder larger = EncoderOf(11);
  SaveModel(TrainerOf(encoder), path_, &larger);
  EXPECT_THAT([&] { ReadModelInfo(path_); },
              ThrowsMessage<Error>(HasSubstr("hotrow.encoder: feature 'large' has 15 ids, its table")));
}

}  // namespace
}  // namespace hotrow
