#include "hotrow/plan/rank_load.h"

#include <algorithm>
#include <string>

namespace hotrow {
namespace {

// Share of a table's ids that are sent to the rank of this shard.
double ShareOfIds(const TablePlan& table, const PlanShard& shard, double world) {
  if (table.sharding == ShardingType::kDataParallel) return 1.0 / world;
  return table.rows > 0 ? static_cast<double>(shard.rows) / static_cast<double>(table.rows) : 0.0;
}

// Adds one table's shards to the loads of their ranks. `shape` may be null.
void AddTable(const TablePlan& table, const TableShape* shape, double world, double global_batch,
              std::map<std::int64_t, RankLoad>& loads) {
  std::map<std::int64_t, double> share_of_ids;  // by rank
  for (const PlanShard& shard : table.shards) {
    RankLoad& load = loads[shard.rank];
    const double rows = static_cast<double>(shard.rows);
    const double columns = static_cast<double>(shard.columns);
    load.narrowest = load.shards == 0 ? shard.columns : std::min(load.narrowest, shard.columns);
    load.widest = load.shards == 0 ? shard.columns : std::max(load.widest, shard.columns);
    ++load.shards;
    load.rows += rows;
    load.weight_bytes += rows * columns * sizeof(float);
    const double share = ShareOfIds(table, shard, world);
    const auto [held, first] = share_of_ids.try_emplace(shard.rank, share);
    if (first) ++load.tables;
    held->second = std::max(held->second, share);
    if (shape == nullptr) continue;
    load.state_bytes += rows * shape->StateOfRow(columns) * sizeof(float);
  }
  if (shape == nullptr) return;
  for (const auto& [rank, share] : share_of_ids) {
    loads[rank].ids += share * shape->ids_per_sample * global_batch;
  }
}

}  // namespace

std::map<std::int64_t, RankLoad> LoadPerRank(const ShardingPlan& plan, std::span<const TableShape> model,
                                             std::int64_t global_batch) {
  std::map<std::string, const TableShape*> shapes;
  for (const TableShape& shape : model) shapes.emplace(shape.name, &shape);
  std::map<std::int64_t, RankLoad> loads;
  const double world = static_cast<double>(std::max<std::int64_t>(plan.world, 1));
  for (const TablePlan& table : plan.tables) {
    const auto found = shapes.find(table.table);
    AddTable(table, found == shapes.end() ? nullptr : found->second, world, static_cast<double>(global_batch),
             loads);
  }
  return loads;
}

}  // namespace hotrow
