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

Batch MakeBatch(Bags bags, bool sample_weights, std::uint64_t step, std::int64_t first,
                std::int64_t samples) {
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
  const ModelConfig& model = ModelFor(Learning::kSgd).model;
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
  for (std::int64_t i = 0; sample_weights && i < samples; ++i)
    batch.sample_weights.push_back(static_cast<float>(random.NextBelow(4)) * 0.3F);
  return batch;
}

}  // namespace

namespace {

TrainerConfig MakeModel(Learning learning) {
  TrainerConfig config;
  ModelConfig& model = config.model;
  model.num_dense = 3;
  model.dense_arch = {6, kDim};
  model.over_arch = {7, 1};
  model.dcn_num_layers = 1;
  model.dcn_low_rank = 3;
  model.features = {"f0", "f1", "f2", "f3", "f4", "f5"};
  model.tables = {{"a", 150, kDim, PoolingType::kSum, {"f3"}},
                  {"b", 30, kDim, PoolingType::kMean, {"f0", "f4"}},
                  {"c", 3, kDim, PoolingType::kSum, {"f1"}},
                  {"d", 700, kDim, PoolingType::kMean, {"f2"}},
                  {"e", 60, kDim, PoolingType::kSum, {"f5"}}};
  const auto optimizer = [](OptimizerKind kind) {
    return OptimizerConfig{
        .kind = kind, .learning_rate = 0.05F, .eps = 1e-3F};  // far above a gradient's rounding
  };
  constexpr std::array kKinds = {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad,
                                 OptimizerKind::kAdam};
  if (learning != Learning::kMixed) {
    config.dense_optimizer = optimizer(kKinds[static_cast<std::size_t>(learning)]);
    SetOptimizer(model.tables, config.dense_optimizer);
    return config;
  }
  model.dense_arch.back() = 5;
  for (std::size_t t = 0; t < model.tables.size(); ++t) {
    model.tables[t].embedding_dim = kDim * static_cast<std::int64_t>(1 + t % 3);
    model.tables[t].optimizer = optimizer(kKinds[(t + 1) % kKinds.size()]);
    model.tables[t].optimizer.learning_rate *= static_cast<float>(1 + t);
  }
  model.tables[0].optimizer.initial_accumulator = 0.1F;  // Adagrad
  model.tables[1].optimizer.initial_accumulator = 0.2F;  // row-wise
  model.tables[1].init = {InitKind::kNormal, 0.1F};
  model.tables[3].init = {InitKind::kUniform, 0.2F};
  model.tables[4].init = {InitKind::kZeros};
  config.dense_optimizer = optimizer(OptimizerKind::kAdagrad);
  config.dense_optimizer.initial_accumulator = 0.05F;
  config.schedule = {
      .kind = ScheduleKind::kCosine, .warmup_steps = 2, .decay_start = 2, .decay_steps = 3, .floor = 0.1};
  config.clip_norm = 0.2;
  config.sample_weights = true;
  return config;
}

}  // namespace

std::string ToString(Learning learning) {
  constexpr std::array kNames = {"sgd", "adagrad", "rowwise_adagrad", "adam", "mixed"};
  return kNames[static_cast<std::size_t>(learning)];
}

const TrainerConfig& ModelFor(Learning learning) {
  static const std::array all = {MakeModel(Learning::kSgd), MakeModel(Learning::kAdagrad),
                                 MakeModel(Learning::kRowWiseAdagrad), MakeModel(Learning::kAdam),
                                 MakeModel(Learning::kMixed)};
  return all[static_cast<std::size_t>(learning)];
}

ShardingPlan PlanFor(PlanOf plan, Learning learning, std::int64_t world) {
  const ModelConfig& model = ModelFor(learning).model;
  const auto by_rule = [&](PlanKind kind) {
    return MakePlan(kind, TableShapes(model.tables, model.features), world);
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
  return UnevenPlan(plan, model.tables, world);
}

const std::vector<Batch>& GlobalBatches(Bags bags, bool sample_weights) {
  const auto make = [](int kind) {
    std::vector<Batch> batches;
    std::int64_t first = 0;
    for (std::size_t step = 0; step < kBatchSizes.size(); ++step) {
      batches.push_back(
          MakeBatch({(kind & 2) != 0, (kind & 1) != 0}, (kind & 4) != 0, step, first, kBatchSizes[step]));
      first += kBatchSizes[step];
    }
    return batches;
  };
  static const std::array all = {make(0), make(1), make(2), make(3), make(4), make(5), make(6), make(7)};
  return all[4 * static_cast<std::size_t>(sample_weights) + 2 * static_cast<std::size_t>(bags.fixed) +
             static_cast<std::size_t>(bags.weighted)];
}

}  // namespace hotrow::matrix
