#pragma once
// A random model and batch, run by the tower and by the reference: each sample's pooled embeddings are rows
// of tables as long as the batch.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hotrow/model/dlrm.h"
#include "hotrow/reference/reference_trainer.h"
#include "tests/dense/naive.h"
#include "tests/support/close.h"

namespace hotrow::test {

inline ModelConfig SmallModel(Interaction interaction, std::int64_t features, std::int64_t dim) {
  ModelConfig config;
  config.interaction = interaction;
  config.dense_arch = {24, dim};
  config.over_arch = {20, 12, 1};
  config.dcn_num_layers = 2;
  config.dcn_low_rank = 6;
  for (std::int64_t f = 0; f < features; ++f) {
    const std::string name = fmt::format("f{}", f);
    config.tables.push_back({fmt::format("t_{}", name), 1, dim, PoolingType::kSum, {name}});
    config.features.push_back(name);
  }
  return config;
}

/// A batch's arrays; the dense arch's columns of x are garbage until a tower writes them.
struct TowerArrays {
  TowerArrays(const ModelConfig& config, std::int64_t num_rows, std::uint64_t seed)
      : rows(num_rows),
        width(config.InteractionWidth()),
        num_dense(config.num_dense),
        dense(RandomFloats(rows * num_dense, seed)),
        x(RandomFloats(rows * width, seed + 1)),
        labels(RandomFloats(rows, seed + 2)),
        dpooled(Z(rows * (width - config.dense_dim())), NAN),
        logits(Z(rows), NAN) {
    for (float& label : labels) label = label > 0.3F ? 1.0F : 0.0F;
    FeatureMajorPlaces(rows, config.FeatureDims(), places);
  }
  /// Rows [first, first + count).
  TowerBatch Part(std::int64_t first, std::int64_t count) {
    return {.rows = count,
            .dense = dense.data() + first * num_dense,
            .x = x.data() + first * width,
            .labels = labels.data() + first,
            .dpooled = {dpooled.data(), places},
            .first_pooled = first,
            .logits = logits.data() + first,
            .gradient_scale = 1.0 / static_cast<double>(rows)};
  }
  std::int64_t rows, width, num_dense;
  Floats dense, x, labels;
  std::vector<PooledPlace> places;  // in dpooled
  Floats dpooled, logits;
};

/// The reference on the same parameters and batch.
inline reference::Evaluation EvaluateReference(const Tower& tower, const TowerArrays& arrays) {
  ModelConfig config = tower.config();
  for (EmbeddingTableConfig& table : config.tables)
    table.num_embeddings = std::max<std::int64_t>(1, arrays.rows);
  if (config.num_dense == 0) config.num_dense = 1;  // the reference counts samples by them: one of zeros
  reference::Tensors tensors = reference::ZeroParameters(config);
  const Parameters& parameters = tower.parameters();
  for (std::size_t i = 0; i < parameters.list().size(); ++i) {
    const Parameter& p = parameters.list()[i];
    if (p.size() == 0) continue;
    Floats values(Z(p.size()));
    parameters.Export(static_cast<std::int64_t>(i), parameters.weights(), values);
    reference::Tensor& tensor = tensors.at(p.name);
    EXPECT_EQ(tensor.data.size(), values.size()) << p.name;
    tensor.data.assign(values.begin(), values.end());
  }
  reference::Batch batch;
  batch.dense = ToDouble(arrays.dense);
  batch.dense.resize(Z(arrays.rows * config.num_dense));
  batch.labels = ToDouble(arrays.labels);
  const std::vector<PooledPlace> places = SampleMajorPlaces(config.FeatureDims(), config.dense_dim());
  for (std::int64_t f = 0; f < config.num_features(); ++f) {
    reference::Tensor& table = tensors.at(reference::TableParameterName(config.tables[Z(f)].name));
    reference::Bags bags(Z(arrays.rows));
    for (std::int64_t row = 0; row < arrays.rows; ++row) {
      bags[Z(row)].ids = {row};
      const std::int64_t dim = config.tables[Z(f)].embedding_dim;
      for (std::int64_t c = 0; c < dim; ++c) {
        table.data[Z(row * dim + c)] = arrays.x[Z(places[Z(f)].first + row * arrays.width + c)];
      }
    }
    batch.features.push_back(bags);
  }
  return reference::Trainer(config, {}, false, tensors).Evaluate(batch);
}

/// Logits, mean loss, dpooled and every gradient agree with the reference's.
inline void ExpectMatchesReference(const Tower& tower, const TowerArrays& arrays, double loss_sum,
                                   const Floats& gradient, reference::Tolerance tolerance) {
  const reference::Evaluation expected = EvaluateReference(tower, arrays);
  EXPECT_TRUE(reference::Close(arrays.logits, expected.logits, tolerance)) << "logits";
  EXPECT_NEAR(loss_sum / static_cast<double>(arrays.rows), expected.loss, 1e-5 * expected.loss);
  EXPECT_TRUE(reference::Close(arrays.dpooled, expected.dpooled, tolerance)) << "dpooled";
  const Parameters& parameters = tower.parameters();
  for (std::size_t i = 0; i < parameters.list().size(); ++i) {
    const Parameter& p = parameters.list()[i];
    if (p.size() == 0) continue;
    Floats values(Z(p.size()));
    parameters.Export(static_cast<std::int64_t>(i), gradient.data(), values);
    EXPECT_TRUE(reference::Close(values, expected.gradients.at(p.name).data, tolerance)) << p.name;
  }
}

}  // namespace hotrow::test
