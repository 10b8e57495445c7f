#pragma once
// From a plan to what a rank holds and pools.

#include <cstdint>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/dist/output_dist.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/embed/table_config.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"
#include "hotrow/sharded/held_shard.h"

namespace hotrow {

// `plan` and `model` have the tables in the order of `tables`.

/// Whether a table's pooled rows are sums over ranks. Never with one rank: every table is whole there,
/// whatever the plan calls it.
bool RowsAreSplit(const TablePlan& table, std::int64_t world);

/// What every rank pools: of each of its shards but replicas, the table's features in its order.
std::vector<std::vector<PooledPiece>> PiecesOfRanks(const ShardingPlan& plan,
                                                    const std::vector<EmbeddingTableConfig>& tables,
                                                    const std::vector<TableShape>& model);

/// Collective: this rank's shards, by (table, first_column). Throws Error when they do not fit in memory, the
/// shards of all thread ranks together.
std::vector<HeldShard> MakeShards(const ShardingPlan& plan, const std::vector<EmbeddingTableConfig>& tables,
                                  const std::vector<TableShape>& model, const EmbeddingOptions& options,
                                  Communicator& comm, ThreadPool& pool);

}  // namespace hotrow
