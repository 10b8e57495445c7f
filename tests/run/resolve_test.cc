// What a run, its data and its world come to.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hotrow/base/error.h"
#include "hotrow/run/resolve.h"
#include "hotrow/run/run_settings.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

DataDescription Data() {
  DataDescription data;
  data.num_dense = 3;
  data.features = {{.name = "user", .rows = 100, .fixed_size = 1},
                   {.name = "item", .rows = 50, .fixed_size = 1},
                   {.name = "seen", .rows = 50, .fixed_size = 0}};
  return data;
}

RunConfig Small() {
  RunConfig config;
  config.tables.embedding_dim = 8;
  config.tower.dense_arch = {4, 8};
  config.tower.over_arch = {4, 1};
  config.placement.sharding = "auto";
  return config;
}

RunConfig With(const std::string& toml) {
  const TempFile file("c.toml", toml);
  RunConfig config = Small();
  config.table_overrides = ReadSettings(kTrain, {{"config", {file.path()}}}).config.table_overrides;
  return config;
}

TEST(Resolve, GivesATableToEveryFeatureUnlessTheyShareOne) {
  const std::vector<EmbeddingTableConfig> own = ResolveTables(Small(), Data());
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(own[0].name, "t_user");
  EXPECT_EQ(own[2].num_embeddings, 50);
  DataDescription data = Data();
  data.features[1].table = data.features[2].table = "items";
  const std::vector<EmbeddingTableConfig> shared = ResolveTables(Small(), data);
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[1].name, "items");
  EXPECT_EQ(shared[1].feature_names, (std::vector<std::string>{"item", "seen"}));
  data.features[2].rows = 51;
  EXPECT_THAT([&] { ResolveTables(Small(), data); },
              ThrowsMessage<Error>(HasSubstr("table 'items': feature 'item' has 50 rows and 'seen' has 51")));
}

TEST(Resolve, WhatIsSaidOfOneTableIsItsAlone) {
  const RunConfig config = With(
      "[[tables]]\nname = \"t_item\"\nembedding_dim = 4\npooling = \"mean\"\noptimizer = \"sgd\"\n"
      "learning_rate = 0.3\ninit = \"zeros\"\n[[tables]]\nname = \"t_item\"\nembedding_dim = 4\n");
  const ModelConfig model = ResolveModel(config, Data());
  EXPECT_EQ(model.tables[0].embedding_dim, 8);
  EXPECT_EQ(model.tables[0].optimizer.kind, OptimizerKind::kAdagrad);
  EXPECT_EQ(model.tables[1].embedding_dim, 4);
  EXPECT_EQ(model.tables[1].pooling, PoolingType::kMean);
  EXPECT_EQ(model.tables[1].optimizer.kind, OptimizerKind::kSgd);
  EXPECT_EQ(model.tables[1].optimizer.learning_rate, 0.3F);
  EXPECT_EQ(model.tables[1].optimizer.eps, model.tables[0].optimizer.eps);
  EXPECT_EQ(model.tables[1].init.kind, InitKind::kZeros);
}

TEST(Resolve, TablesThatAreNoneOrContradictThemselvesAreNamed) {
  EXPECT_THAT([] { ResolveTables(With("\n[[tables]]\nname = \"t_itme\"\neps = 1\n"), Data()); },
              ThrowsMessage<Error>(
                  HasSubstr("c.toml:2: 't_itme' is no table of the data, which has t_user, t_item, t_seen")));
  EXPECT_THAT(
      [] {
        ResolveTables(
            With("[[tables]]\nname = \"t_item\"\neps = 1\n[[tables]]\nname = \"t_item\"\neps = 2\n"), Data());
      },
      ThrowsMessage<Error>(HasSubstr("c.toml:4: eps of table 't_item' is 2, but ")));
}

TEST(Resolve, DenseParametersHaveTheTablesOptimizerButForWhatIsSaid) {
  RunConfig config = Small();
  config.tables.optimizer.learning_rate = 0.5F;
  config.tables.optimizer.initial_accumulator = 0.1F;
  EXPECT_EQ(ResolveDenseOptimizer(config), config.tables.optimizer);
  config.dense.learning_rate = 0.25F;
  config.dense.kind = OptimizerKind::kSgd;
  EXPECT_EQ(ResolveDenseOptimizer(config).learning_rate, 0.25F);
  EXPECT_EQ(ResolveDenseOptimizer(config).kind, OptimizerKind::kSgd);
  EXPECT_EQ(ResolveDenseOptimizer(config).initial_accumulator, 0.0F);
}

TEST(Resolve, StorageIsEagerWhereThatFits) {
  EXPECT_EQ(ResolveStorage(StorageChoice::kAuto, 85, 100), StorageKind::kEager);
  EXPECT_EQ(ResolveStorage(StorageChoice::kAuto, 86, 100), StorageKind::kLazy);
  EXPECT_EQ(ResolveStorage(StorageChoice::kEager, 1000, 1), StorageKind::kEager);
  EXPECT_EQ(ResolveStorage(StorageChoice::kLazy, 1, 1000), StorageKind::kLazy);
}

TEST(Resolve, AWorldGetsAPlanAndUnits) {
  const TrainerConfig four = Resolve(Small(), Data(), {.ranks = 4, .ranks_here = 4, .memory = 1 << 30});
  EXPECT_EQ(four.plan->world, 4);
  EXPECT_EQ(four.reduction_units, 8);
  EXPECT_EQ(four.storage, StorageKind::kEager);
  EXPECT_EQ(Resolve(Small(), Data(), {.ranks = 3, .ranks_here = 3}).reduction_units, 12);
  RunConfig config = Small();
  config.placement.reduction_units = 2;
  EXPECT_THAT([&] { Resolve(config, Data(), {.ranks = 4, .ranks_here = 4}); },
              ThrowsMessage<Error>(HasSubstr("4 ranks cannot share 2")));
  config = Small();
  config.placement.sharding = "column_wise";
  EXPECT_THAT([&] { Resolve(config, Data(), {.ranks = 4, .ranks_here = 4}); },
              ThrowsMessage<Error>(HasSubstr("8 columns over 4 ranks")));
}

}  // namespace
}  // namespace hotrow
