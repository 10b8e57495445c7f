#include "tests/property/random_model.h"

#include <fmt/core.h>

#include <algorithm>

namespace hotrow::property {

ModelConfig RandomModel(Dice& dice) {
  ModelConfig model;
  model.interaction = dice.Chance(50) ? Interaction::kCross : Interaction::kDot;
  model.num_dense = dice.Pick<std::int64_t>({1, 2, 13});
  const std::vector<std::int64_t> dims = {1, 3, 16, 100, 128};
  const std::int64_t dim = dice.Pick(dims);
  const bool mixed = model.interaction == Interaction::kCross && dice.Chance(50);
  model.dense_arch.clear();
  if (dice.Chance(70)) model.dense_arch.push_back(dice.Between(1, 24));
  model.dense_arch.push_back(mixed ? dice.Between(1, 30) : dim);
  model.over_arch = {dice.Between(1, 20)};
  if (dice.Chance(70)) model.over_arch.push_back(dice.Between(1, 12));
  model.over_arch.push_back(1);
  model.dcn_num_layers = dice.Between(1, 3);
  model.dcn_low_rank = dice.Between(1, 7);

  const std::int64_t features = dice.Between(1, 6);
  const std::int64_t tables = dice.Between(1, features);
  for (std::int64_t t = 0; t < tables; ++t) {
    model.tables.push_back({.name = fmt::format("t{}", t),
                            .num_embeddings = dice.Pick<std::int64_t>({1, 2, 7, 60}),
                            .embedding_dim = mixed ? dice.Pick(dims) : dim,
                            .pooling = dice.Chance(30) ? PoolingType::kMean : PoolingType::kSum,
                            .feature_names = {}});
  }
  for (std::int64_t f = 0; f < features; ++f) {
    model.features.push_back(fmt::format("f{}", f));
    // Each table serves one feature at least; the rest fall anywhere, so that tables are shared by features
    // apart.
    const std::int64_t table = f < tables ? f : dice.Between(0, tables - 1);
    model.tables[static_cast<std::size_t>(table)].feature_names.push_back(model.features.back());
  }
  return model;
}

Batch RandomBatch(Dice& dice, const ModelConfig& model, std::int64_t samples, Filling filling, bool weighted,
                  bool skipped) {
  Batch batch;
  batch.size = samples;
  for (std::int64_t i = 0; i < samples * model.num_dense; ++i) batch.dense.push_back(dice.Uniform(-1, 2));
  for (std::int64_t i = 0; i < samples; ++i) batch.labels.push_back(dice.Chance(40) ? 1.0F : 0.0F);

  std::vector<std::int32_t> lengths, fixed;
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (const std::string& feature : model.features) {
    const auto table = std::ranges::find_if(model.tables, [&](const EmbeddingTableConfig& t) {
      return std::ranges::find(t.feature_names, feature) != t.feature_names.end();
    });
    fixed.push_back(static_cast<std::int32_t>(dice.Between(0, 5)));
    // Some features see one row only: every id is a duplicate.
    const std::int64_t last = dice.Chance(20) ? 0 : table->num_embeddings - 1;
    for (std::int64_t s = 0; s < samples; ++s) {
      std::int64_t length = fixed.back();
      if (filling == Filling::kMixed)
        length = dice.Chance(30) ? 0 : dice.Between(1, dice.Chance(10) ? 40 : 5);
      if (filling == Filling::kAllEmpty) length = 0;
      if (filling == Filling::kOneId) length = 1;
      lengths.push_back(static_cast<std::int32_t>(length));
      for (std::int64_t i = 0; i < length; ++i) {
        ids.push_back(skipped && dice.Chance(15) ? -1 : dice.Between(0, last));
        weights.push_back(dice.Uniform(-1, 2));
      }
    }
  }
  if (filling == Filling::kFixed) {
    batch.sparse = KeyedJaggedTensor(model.features, fixed);
    batch.sparse.ResetFixed(samples, weighted);
    std::ranges::copy(ids, batch.sparse.mutable_values().begin());
    if (weighted) std::ranges::copy(weights, batch.sparse.mutable_weights().begin());
  } else {
    batch.sparse = KeyedJaggedTensor(model.features);
    if (!weighted) weights.clear();
    batch.sparse.ResetJagged(samples, lengths, ids, weights);
  }
  return batch;
}

OptimizerConfig RandomOptimizer(Dice& dice, OptimizerKind kind, WeightDecayMode decay) {
  OptimizerConfig config;
  config.kind = kind;
  config.learning_rate = dice.Uniform(0.01F, 0.1F);
  config.eps = dice.Pick<float>({1e-2F, 1e-3F});
  config.beta1 = dice.Uniform(0.5F, 0.9F);
  config.beta2 = dice.Uniform(0.8F, 0.99F);
  config.weight_decay_mode = decay;
  if (decay != WeightDecayMode::kNone) config.weight_decay = dice.Uniform(0.05F, 0.5F);
  return config;
}

}  // namespace hotrow::property
