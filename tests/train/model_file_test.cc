#include "hotrow/train/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "hotrow/base/error.h"
#include "hotrow/base/interrupted.h"
#include "hotrow/files/safetensors.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;

class ModelFileTest : public ::testing::Test {
 protected:
  ModelFileTest() { Train(trainer_, 4); }
  ~ModelFileTest() override { std::remove(path_.c_str()); }

  void Train(Trainer& trainer, int steps) {
    source_.StartEpoch(0);
    Batch batch;
    for (int i = 0; i < steps && source_.Next(20, batch); ++i) trainer.Step(batch);
  }
  template <typename Call>
  std::string ErrorOf(Call&& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }

  std::string path_ = ::testing::TempDir() + "/model_file_test." + std::to_string(getpid()) + ".safetensors";
  ThreadPool pool_{2};
  SyntheticSource source_{SmallData(100)};
  Trainer trainer_{SmallTrainer(source_.description()), pool_};
};

TEST_F(ModelFileTest, RoundTripKeepsEveryBit) {
  SaveModel(trainer_, path_, nullptr);
  const ModelFileInfo info = ReadModelInfo(path_);
  EXPECT_EQ(info.encoder, nullptr);
  for (const StorageKind storage : {StorageKind::kEager, StorageKind::kLazy}) {
    TrainerConfig config = SmallTrainer(source_.description(), 99);
    config.model = info.model;
    config.storage = storage;
    Trainer loaded(config, pool_);
    EXPECT_NE(loaded.WeightsHash(), trainer_.WeightsHash());
    LoadModel(loaded, path_);
    EXPECT_EQ(loaded.WeightsHash(), trainer_.WeightsHash());
    Batch batch;
    source_.StartEpoch(0);
    ASSERT_TRUE(source_.Next(33, batch));
    std::vector<float> want(33);
    std::vector<float> got(33);
    trainer_.Predict(batch, want);
    loaded.Predict(batch, got);
    EXPECT_EQ(got, want);
  }
}

TEST_F(ModelFileTest, LazyTablesSaveTheSameFile) {
  TrainerConfig config = SmallTrainer(source_.description());
  config.storage = StorageKind::kLazy;
  Trainer lazy(config, pool_);
  Train(lazy, 4);
  SaveModel(trainer_, path_, nullptr);
  SaveModel(lazy, path_ + ".lazy", nullptr);
  const auto bytes = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes(path_), bytes(path_ + ".lazy"));
  std::remove((path_ + ".lazy").c_str());
}

TEST_F(ModelFileTest, HasTorchRecsNamesAndShapes) {
  SaveModel(trainer_, path_, nullptr);
  const SafetensorsReader file(path_);
  const auto shape = [&](const std::string& name) { return file.Info(name).shape; };
  EXPECT_THAT(shape("sparse_arch.embedding_bag_collection.embedding_bags.t_f2.weight"),
              ::testing::ElementsAre(400, 8));
  EXPECT_THAT(shape("dense_arch.model._mlp.0._linear.weight"), ::testing::ElementsAre(16, 5));
  EXPECT_THAT(shape("dense_arch.model._mlp.1._linear.bias"), ::testing::ElementsAre(8));
  EXPECT_THAT(shape("inter_arch.crossnet.V_kernels.1"), ::testing::ElementsAre(4, 40));
  EXPECT_THAT(shape("inter_arch.crossnet.W_kernels.0"), ::testing::ElementsAre(40, 4));
  EXPECT_THAT(shape("inter_arch.crossnet.bias.0"), ::testing::ElementsAre(40));
  EXPECT_THAT(shape("over_arch.model.0._mlp.0._linear.weight"), ::testing::ElementsAre(12, 40));
  EXPECT_THAT(shape("over_arch.model.1.weight"), ::testing::ElementsAre(1, 12));
  EXPECT_EQ(file.tensors().size(), 4U + 4 + 6 + 4);
}

TEST_F(ModelFileTest, RefusesAnotherModelNamingTheTensor) {
  SaveModel(trainer_, path_, nullptr);
  TrainerConfig config = SmallTrainer(source_.description());
  config.model.over_arch = {13, 1};
  Trainer other(config, pool_);
  const std::uint64_t before = other.WeightsHash();
  EXPECT_THAT(ErrorOf([&] { LoadModel(other, path_); }),
              HasSubstr("over_arch.model.0._mlp.0._linear.weight"));
  EXPECT_EQ(other.WeightsHash(), before) << "the tables, which do fit, were not loaded either";
}

TEST_F(ModelFileTest, RefusesWhatIsNoModel) {
  EXPECT_THAT(ErrorOf([&] { ReadModelInfo(path_ + ".none"); }), HasSubstr(path_ + ".none"));
  SafetensorsWriter writer(path_, {{"x", {2}}}, {});
  const float x[2] = {1, 2};
  writer.Append(x, 2);
  writer.Finish();
  EXPECT_THAT(ErrorOf([&] { ReadModelInfo(path_); }), HasSubstr("hotrow.model"));
  EXPECT_THAT(ErrorOf([&] { ModelConfigFromJson("{\"version\": 3}", "f"); }), HasSubstr("version 3"));
  EXPECT_THAT(ErrorOf([&] { ModelConfigFromJson("{\"version\": 1}", "f"); }), HasSubstr("f: hotrow.model"));
  EXPECT_THAT(ErrorOf([&] { ModelConfigFromJson("[", "f"); }), HasSubstr("f: hotrow.model"));
}

TEST(ModelConfigJson, KeepsWhatEachTableHasOfItsOwn) {
  TrainerConfig config = SmallTrainer(SyntheticSource(SmallData(1)).description());
  config.model.dense_arch.back() = 5;
  config.model.tables[1].embedding_dim = 4;
  config.model.tables[1].pooling = PoolingType::kMean;
  config.model.tables[1].optimizer = {.kind = OptimizerKind::kAdam,
                                      .learning_rate = 0.1F,
                                      .eps = 1e-5F,
                                      .beta1 = 0.7F,
                                      .beta2 = 0.95F,
                                      .weight_decay = 0.01F,
                                      .weight_decay_mode = WeightDecayMode::kDecoupled};
  config.model.tables[2].optimizer = {.kind = OptimizerKind::kRowWiseAdagrad, .initial_accumulator = 0.1F};
  config.model.tables[2].init = {InitKind::kNormal, 0.02F};
  const ModelConfig read = ModelConfigFromJson(ModelConfigToJson(config.model), "f");
  EXPECT_EQ(read.tables, config.model.tables);
  EXPECT_EQ(read.dense_arch, config.model.dense_arch);
}

// What a build before tables had options of their own has written.
TEST(ModelConfigJson, ReadsVersion1) {
  const ModelConfig model = ModelConfigFromJson(
      R"({"version":1,"model":"dlrm_dcn","num_dense":2,"embedding_dim":8,"dense_arch":[4,8],"over_arch":[3,1],)"
      R"("dcn_num_layers":1,"dcn_low_rank":2,"features":["a","b"],"tables":[)"
      R"({"name":"t_a","num_embeddings":9,"embedding_dim":8,"pooling":"mean","feature_names":["a"]},)"
      R"({"name":"t_b","num_embeddings":5,"embedding_dim":8,"pooling":"sum","feature_names":["b"]}]})",
      "f");
  EXPECT_EQ(model.InteractionWidth(), 24);
  EXPECT_EQ(model.tables[0].pooling, PoolingType::kMean);
  EXPECT_EQ(model.tables[1].num_embeddings, 5);
}

TEST_F(ModelFileTest, AFullPlaceLeavesTheOldFile) {
  SaveModel(trainer_, path_, nullptr);
  const auto size = std::filesystem::file_size(path_);
  EXPECT_THROW(SaveModel(trainer_, "/dev/full/model.safetensors", nullptr), Error);
  EXPECT_THROW(SaveModel(trainer_, ::testing::TempDir() + "/no/such/dir/m.safetensors", nullptr), Error);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
}

TEST_F(ModelFileTest, CheckKnowsTheSizeAndThePlace) {
  const std::int64_t bytes = CheckSave(trainer_, path_, nullptr);
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::int64_t announced = 0;
  std::int64_t last = 0;
  SaveModel(trainer_, path_, nullptr, {.on_progress = [&](std::int64_t written, std::int64_t total) {
              EXPECT_GT(written, last);
              last = written;
              announced = total;
            }});
  EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(path_)), bytes);
  EXPECT_EQ(announced, bytes);
  EXPECT_LT(last, bytes) << "the dense parameters follow the tables";
  EXPECT_THAT(ErrorOf([&] { CheckSave(trainer_, "/dev/null", nullptr); }), HasSubstr("/dev/null: exists"));
}

TEST_F(ModelFileTest, AnInterruptLeavesTheOldFile) {
  SaveModel(trainer_, path_, nullptr);
  const auto size = std::filesystem::file_size(path_);
  std::atomic<bool> interrupted{false};
  const SaveObserver observer = {.on_progress = [&](std::int64_t, std::int64_t) { interrupted = true; },
                                 .interrupted = &interrupted};
  EXPECT_THROW(SaveModel(trainer_, path_, nullptr, observer), Interrupted);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  ReadModelInfo(path_);
  EXPECT_FALSE(std::filesystem::exists(path_ + "." + std::to_string(getpid()) + ".tmp"));
}

}  // namespace
}  // namespace hotrow
