#pragma once
// A model and data small enough that a test trains it in milliseconds.

#include "hotrow/data/synthetic.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

inline SyntheticConfig SmallData(std::optional<std::int64_t> samples, std::uint64_t seed = 7) {
  return {.rows = {50, 3, 400, 1},
          .bag_sizes = {2, 1, 5, 1},
          .num_dense = 5,
          .ids = {},
          .seed = seed,
          .samples = samples};
}

inline TrainerConfig SmallTrainer(const DataDescription& data, std::uint64_t seed = 3) {
  TrainerConfig config;
  config.model.num_dense = data.num_dense;
  config.model.dense_arch = {16, 8};
  config.model.over_arch = {12, 1};
  config.model.dcn_num_layers = 2;
  config.model.dcn_low_rank = 4;
  for (const SparseFeature& feature : data.features) {
    config.model.tables.push_back({.name = "t_" + feature.name,
                                   .num_embeddings = feature.rows,
                                   .embedding_dim = 8,
                                   .feature_names = {feature.name}});
    config.model.features.push_back(feature.name);
  }
  config.dense_optimizer.learning_rate = 0.05F;
  SetOptimizer(config.model.tables, config.dense_optimizer);
  config.seed = seed;
  return config;
}

}  // namespace hotrow
