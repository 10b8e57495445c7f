#include "matrix_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hotrow/base/rng.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/sharded/table_shapes.h"

namespace hotrow::matrix {
namespace {

constexpr std::int64_t kDim = 32;  // 4 columns for each of 8 ranks
constexpr std::array<std::int64_t, 5> kBatchSizes = {19, 19, 13, 5, 23};
const std::vector<std::int64_t> kRows = {30, 3, 700, 150, 30, 60};  // of each feature's table
const std::vector<std::int32_t> kFixedSizes = {2, 1, 5, 3, 1, 4};

Batch MakeBatch(Bags bags, std::uint64_t step, std::int64_t first, std::int64_t samples) {
  Batch batch;
  batch.first_sample = first;
  batch.size = samples;
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (std::size_t f = 0; f < kRows.size(); ++f) {
    RandomSequence random(MixSeed(step, f), RandomStream::kPlanted, bags.fixed ? 1 : 0);
    for (std::int64_t s = 0; s < samples; ++s) {
      lengths.push_back(bags.fixed ? kFixedSizes[f] : static_cast<std::int32_t>(random.NextBelow(6)));
      for (std::int32_t i = 0; i < lengths.back(); ++i) {
        const bool bad = random.NextBelow(20) == 0;
        const bool hot = random.NextBelow(2) == 0;
        const std::int64_t id = random.NextBelow(hot ? std::min<std::int64_t>(kRows[f], 5) : kRows[f]);
        ids.push_back(bad ? kRows[f] + id : kRows[f] - 1 - id);
        weights.push_back(static_cast<float>(random.NextNormal()));
      }
    }
  }
  const ModelConfig& model = Model();
  if (!bags.weighted) weights.clear();
  if (bags.fixed) {
    batch.sparse = KeyedJaggedTensor(model.features, kFixedSizes);
    batch.sparse.ResetFixed(samples, bags.weighted);
    std::ranges::copy(ids, batch.sparse.mutable_values().begin());
    std::ranges::copy(weights, batch.sparse.mutable_weights().begin());
  } else {
    batch.sparse = KeyedJaggedTensor(model.features);
    batch.sparse.ResetJagged(samples, lengths, ids, weights);
  }
  RandomSequence random(step, RandomStream::kSyntheticDense);
  for (std::int64_t i = 0; i < samples * model.num_dense; ++i)
    batch.dense.push_back(static_cast<float>(random.NextNormal()));
  for (std::int64_t i = 0; i < samples; ++i) batch.labels.push_back(static_cast<float>(random.NextBelow(2)));
  return batch;
}

}  // namespace

const ModelConfig& Model() {
  static const ModelConfig model = [] {
    ModelConfig config;
    config.num_dense = 3;
    config.embedding_dim = kDim;
    config.dense_arch = {6, kDim};
    config.over_arch = {7, 1};
    config.dcn_num_layers = 1;
    config.dcn_low_rank = 3;
    config.features = {"f0", "f1", "f2", "f3", "f4", "f5"};
    config.tables = {{"a", 150, kDim, PoolingType::kSum, {"f3"}},
                     {"b", 30, kDim, PoolingType::kMean, {"f0", "f4"}},
                     {"c", 3, kDim, PoolingType::kSum, {"f1"}},
                     {"d", 700, kDim, PoolingType::kMean, {"f2"}},
                     {"e", 60, kDim, PoolingType::kSum, {"f5"}}};
    return config;
  }();
  return model;
}

ShardingPlan PlanFor(PlanOf plan, std::int64_t world) {
  const auto by_rule = [&](PlanKind kind) {
    return MakePlan(kind, TableShapes(Model().tables, Model().features, OptimizerKind::kAdagrad), world);
  };
  switch (plan) {
    case PlanOf::kTableWise:
      return by_rule(PlanKind::kTableWise);
    case PlanOf::kColumnWise:
      return by_rule(PlanKind::kColumnWise);
    case PlanOf::kDataParallel:
      return by_rule(PlanKind::kDataParallel);
    case PlanOf::kRowWise:
      return by_rule(PlanKind::kRowWise);
    case PlanOf::kGrid:
      return by_rule(PlanKind::kGrid);
    case PlanOf::kMixed:
    case PlanOf::kMixedWithRows:
      break;
  }
  return UnevenPlan(plan, Model().tables, world);
}

const std::vector<Batch>& GlobalBatches(Bags bags) {
  const auto make = [](Bags kind) {
    std::vector<Batch> batches;
    std::int64_t first = 0;
    for (std::size_t step = 0; step < kBatchSizes.size(); ++step) {
      batches.push_back(MakeBatch(kind, step, first, kBatchSizes[step]));
      first += kBatchSizes[step];
    }
    return batches;
  };
  static const std::vector<Batch> all[] = {make({false, false}), make({false, true}), make({true, false}),
                                           make({true, true})};
  return all[2 * static_cast<int>(bags.fixed) + static_cast<int>(bags.weighted)];
}

}  // namespace hotrow::matrix
