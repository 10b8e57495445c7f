#pragma once
// From what was said of a run, and what its data and its world are, to what the engine takes: the one place
// where train, eval, predict, plan and bench get their models, plans and storage.

#include <span>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"
#include "hotrow/run/run_config.h"
#include "hotrow/run/world.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

/// A table for each name that features share, or "t_NAME" of a feature of its own. Throws Error where
/// features of one table have other numbers of rows, or something was said of a table that is none.
std::vector<EmbeddingTableConfig> ResolveTables(const RunConfig& config, const DataDescription& data);

/// The model for data of this description. Throws Error where it cannot be.
ModelConfig ResolveModel(const RunConfig& config, const DataDescription& data);

/// Ids a sample of each feature, as plans that balance them count: 1 where bags vary.
std::vector<double> IdsPerSample(const DataDescription& data);

/// The tables as plans know them.
std::vector<TableShape> ResolveShapes(const RunConfig& config, const DataDescription& data);

/// The plan that `sharding` is a rule or a file of, for these tables, in their order. Throws Error where it
/// is neither, or does not fit.
ShardingPlan ResolvePlan(const PlacementConfig& placement, std::span<const TableShape> tables,
                         std::int64_t ranks);

/// Units a global batch is cut into: those that were asked for, or as many as the ranks share. Throws Error
/// where they cannot share them.
std::int64_t UnitsOf(const PlacementConfig& placement, std::int64_t ranks);

/// Eager, or lazy where that does not fit: a table that is filled as a whole must leave some of the memory.
StorageKind ResolveStorage(StorageChoice choice, std::int64_t eager_bytes, std::int64_t memory);

/// The dense parameters' optimizer: the tables' numbers, but for what was said of it.
OptimizerConfig ResolveDenseOptimizer(const RunConfig& config);

/// The trainer of a world that is not known yet: without plan and storage, its units those of one rank.
TrainerConfig ResolveTrainer(const RunConfig& config, const DataDescription& data);

/// Completes it for a world: plan, units, where tables are kept.
void PlaceOnWorld(const RunConfig& config, const DataDescription& data, const World& world,
                  TrainerConfig& trainer);

/// Both: the model, its plan over the world, where tables are kept, units. Throws Error for what cannot
/// be, tables that MPI ranks of this host cannot hold among it: thread ranks add up what they need when they
/// make them.
TrainerConfig Resolve(const RunConfig& config, const DataDescription& data, const World& world);

}  // namespace hotrow
