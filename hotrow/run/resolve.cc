#include "hotrow/run/resolve.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "hotrow/base/error.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/plan/plan_file.h"
#include "hotrow/plan/plan_queries.h"
#include "hotrow/plan/units_of_ranks.h"
#include "hotrow/run/table_overrides.h"
#include "hotrow/sharded/table_shapes.h"

namespace hotrow {

std::vector<EmbeddingTableConfig> ResolveTables(const RunConfig& config, const DataDescription& data) {
  std::vector<EmbeddingTableConfig> tables;
  std::vector<std::string> names;
  for (const SparseFeature& feature : data.features) {
    const std::string name = feature.table.empty() ? "t_" + feature.name : feature.table;
    const auto shared = std::ranges::find(tables, name, &EmbeddingTableConfig::name);
    if (shared == tables.end()) {
      const TableSettings settings = SettingsOfTable(config, name);
      names.push_back(name);
      tables.push_back({.name = name,
                        .num_embeddings = feature.rows,
                        .embedding_dim = settings.embedding_dim,
                        .pooling = settings.pooling,
                        .feature_names = {feature.name},
                        .optimizer = settings.optimizer,
                        .init = settings.init});
      continue;
    }
    if (shared->num_embeddings != feature.rows) {
      Fail("table '{}': feature '{}' has {} rows and '{}' has {}; features of one table have the same", name,
           shared->feature_names.front(), shared->num_embeddings, feature.name, feature.rows);
    }
    shared->feature_names.push_back(feature.name);
  }
  CheckTableOverrides(config, names);
  return tables;
}

ModelConfig ResolveModel(const RunConfig& config, const DataDescription& data) {
  const TowerConfig& tower = config.tower;
  ModelConfig model;
  model.interaction = tower.interaction;
  model.num_dense = data.num_dense;
  model.dense_arch = tower.dense_arch;
  if (model.dense_arch.empty()) model.dense_arch = {512, 256, config.tables.embedding_dim};
  model.over_arch = tower.over_arch;
  model.dcn_num_layers = tower.dcn_num_layers;
  model.dcn_low_rank = tower.dcn_low_rank;
  model.tables = ResolveTables(config, data);
  for (const SparseFeature& feature : data.features) model.features.push_back(feature.name);
  Validate(model);
  return model;
}

std::vector<double> IdsPerSample(const DataDescription& data) {
  std::vector<double> ids;
  for (const SparseFeature& feature : data.features)
    ids.push_back(feature.fixed_size > 0 ? feature.fixed_size : 1);
  return ids;
}

std::vector<TableShape> ResolveShapes(const RunConfig& config, const DataDescription& data) {
  std::vector<std::string> features;
  for (const SparseFeature& feature : data.features) features.push_back(feature.name);
  return TableShapes(ResolveTables(config, data), features, IdsPerSample(data));
}

namespace {

std::string WhyNoPlanFile(const std::filesystem::file_status& file, const std::error_code& error) {
  if (file.type() == std::filesystem::file_type::not_found) return "there is no file of that name";
  if (std::filesystem::is_directory(file)) return "that is a directory";
  return error ? "that cannot be read: " + error.message() : "that is not a file";
}

}  // namespace

ShardingPlan ResolvePlan(const PlacementConfig& placement, std::span<const TableShape> tables,
                         std::int64_t ranks) {
  std::error_code error;
  const std::filesystem::file_status file = std::filesystem::status(placement.sharding, error);
  if (std::filesystem::is_regular_file(file)) {
    return PlanForModel(LoadPlan(placement.sharding), tables, ranks, placement.sharding);
  }
  PlanKind kind;
  try {
    kind = ParsePlanKind(placement.sharding);
  } catch (const Error& e) {
    Fail("--{}, or a plan file; {}", e.what(), WhyNoPlanFile(file, error));
  }
  if (placement.ranks_per_group != 0 && kind != PlanKind::kGrid) {
    Fail("--ranks-per-group {}: only --sharding grid has groups", placement.ranks_per_group);
  }
  return MakePlan(kind, tables, ranks, {.group_size = placement.ranks_per_group});
}

std::int64_t UnitsOf(const PlacementConfig& placement, std::int64_t ranks) {
  const std::int64_t units =
      placement.reduction_units != 0 ? placement.reduction_units : DefaultReductionUnits(ranks);
  ValidateReductionUnits(units, ranks);
  return units;
}

StorageKind ResolveStorage(StorageChoice choice, std::int64_t eager_bytes, std::int64_t memory) {
  constexpr double kEagerShare = 0.85;
  if (choice == StorageChoice::kEager) return StorageKind::kEager;
  if (choice == StorageChoice::kLazy) return StorageKind::kLazy;
  // Either kind needs the same address space.
  const double room = kEagerShare * static_cast<double>(memory);
  return static_cast<double>(eager_bytes) <= room ? StorageKind::kEager : StorageKind::kLazy;
}

OptimizerConfig ResolveDenseOptimizer(const RunConfig& config) {
  OptimizerConfig optimizer = config.tables.optimizer;
  if (config.dense.kind) optimizer.kind = *config.dense.kind;
  if (config.dense.learning_rate) optimizer.learning_rate = *config.dense.learning_rate;
  // What the tables' Adagrad starts from is nothing to a dense optimizer without an accumulator.
  if (optimizer.kind == OptimizerKind::kSgd || optimizer.kind == OptimizerKind::kAdam) {
    optimizer.initial_accumulator = 0;
  }
  Validate(optimizer);
  return optimizer;
}

TrainerConfig ResolveTrainer(const RunConfig& config, const DataDescription& data) {
  const PlacementConfig& placement = config.placement;
  TrainerConfig trainer;
  trainer.model = ResolveModel(config, data);
  trainer.dense_optimizer = ResolveDenseOptimizer(config);
  trainer.schedule = config.schedule;
  Validate(trainer.schedule);
  trainer.clip_norm = config.dense.clip_norm;
  trainer.sample_weights = data.weighted_samples;
  trainer.kernel = placement.kernel;
  trainer.bad_ids = config.data.bad_ids;
  trainer.seed = config.common.seed;
  trainer.dist = placement.dist;
  trainer.verify_every = placement.verify_every;
  if (placement.reduction_units != 0) trainer.reduction_units = placement.reduction_units;
  return trainer;
}

void PlaceOnWorld(const RunConfig& config, const DataDescription& data, const World& world,
                  TrainerConfig& trainer) {
  const PlacementConfig& placement = config.placement;
  trainer.reduction_units = UnitsOf(placement, world.ranks);
  const std::vector<TableShape> shapes =
      TableShapes(trainer.model.tables, trainer.model.features, IdsPerSample(data));
  trainer.plan = ResolvePlan(placement, shapes, world.ranks);
  if (world.ranks == 1) {
    const std::int64_t bytes = EagerBytes(trainer.model.tables);
    trainer.storage = ResolveStorage(placement.storage, bytes, world.memory);
    return;
  }
  // Which of the ranks are on this host is not said: as many of the largest may be.
  const RankBytes here = MostBytesOf(BytesPerRank(*trainer.plan, shapes), world.ranks_here);
  trainer.storage = ResolveStorage(placement.storage, here.total(), world.memory);
  if (!world.one_process) {
    const EmbeddingOptions options{.kernel = trainer.kernel, .storage = trainer.storage};
    CheckTableMemory(options, here.total(), here.weights);
  }
}

TrainerConfig Resolve(const RunConfig& config, const DataDescription& data, const World& world) {
  TrainerConfig trainer = ResolveTrainer(config, data);
  PlaceOnWorld(config, data, world, trainer);
  return trainer;
}

}  // namespace hotrow
