#include "hotrow/sharded/make_shards.h"

#include <array>
#include <utility>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/embed/unfused_backward.h"
#include "hotrow/plan/plan_queries.h"

namespace hotrow {
namespace {

bool IsReplicated(const TablePlan& table, std::int64_t world) {
  return world > 1 && table.sharding == ShardingType::kDataParallel;
}

// Throws Error unless the eager tables, of all thread ranks together, fit in memory.
void CheckMemory(const std::vector<RankShard>& shards, const std::vector<EmbeddingTableConfig>& tables,
                 const EmbeddingOptions& options, Communicator& comm) {
  std::array<std::int64_t, 2> bytes = {0, 0};  // rows, and dense gradients
  for (const RankShard& held : shards) {
    const OptimizerConfig& optimizer = tables[Index(held.table)].optimizer;
    const RowLayout layout = MakeRowLayout(held.shard.columns, optimizer.kind);
    bytes[0] = CheckedAdd(bytes[0], CheckedMul(held.shard.rows, layout.bytes()));
    bytes[1] = CheckedAdd(bytes[1], UnfusedBackward::GradientBytes(held.shard.rows, held.shard.columns));
  }
  AllReduceSumOfMemory<std::int64_t>(comm, bytes);
  CheckTableMemory(options, bytes[0], bytes[1]);
  // No rank makes tables before all have looked: the memory they take would be missing.
  comm.Barrier();
}

}  // namespace

bool RowsAreSplit(const TablePlan& table, std::int64_t world) {
  return world > 1 && (table.sharding == ShardingType::kRowWise || table.sharding == ShardingType::kGrid);
}

std::vector<std::vector<PooledPiece>> PiecesOfRanks(const ShardingPlan& plan,
                                                    const std::vector<EmbeddingTableConfig>& tables,
                                                    const std::vector<TableShape>& model) {
  std::vector<std::vector<PooledPiece>> pieces(Index(plan.world));
  for (std::int64_t rank = 0; rank < plan.world; ++rank) {
    for (const RankShard& held : ShardsOfRank(plan, rank)) {
      const TablePlan& table = plan.tables[Index(held.table)];
      if (IsReplicated(table, plan.world)) continue;
      const bool partial = RowsAreSplit(table, plan.world);
      const bool mean = partial && tables[Index(held.table)].pooling == PoolingType::kMean;
      for (const std::int64_t f : model[Index(held.table)].features)
        pieces[Index(rank)].push_back({f, held.shard.first_column, held.shard.columns, partial, mean});
    }
  }
  return pieces;
}

std::vector<HeldShard> MakeShards(const ShardingPlan& plan, const std::vector<EmbeddingTableConfig>& tables,
                                  const std::vector<TableShape>& model, const EmbeddingOptions& options,
                                  Communicator& comm, ThreadPool& pool) {
  const std::vector<RankShard> mine = ShardsOfRank(plan, comm.rank());
  CheckMemory(mine, tables, options, comm);
  std::vector<HeldShard> shards;
  std::size_t pieces = 0;
  for (const RankShard& held : mine) {
    EmbeddingTableConfig config = tables[Index(held.table)];
    const TablePlan& table = plan.tables[Index(held.table)];
    if (RowsAreSplit(table, plan.world)) config.pooling = PoolingType::kSum;  // the samples' ranks divide
    HeldShard shard;
    shard.table_index = held.table;
    shard.place = held.shard;
    shard.table = std::make_unique<EmbeddingTable>(
        std::move(config),
        TableShard{held.shard.first_row, held.shard.rows, held.shard.first_column, held.shard.columns},
        options.storage, held.table, options.seed, pool);
    shard.features = model[Index(held.table)].features;
    shard.replica = IsReplicated(table, plan.world);
    shard.first_piece = pieces;
    if (!shard.replica) pieces += shard.features.size();
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace hotrow
