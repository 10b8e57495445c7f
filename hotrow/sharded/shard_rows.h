#pragma once
// Whole rows of a table whose parts are on several ranks.

#include <cstdint>
#include <span>

#include "hotrow/comm/communicator.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/sharded/held_shard.h"

namespace hotrow {

/// Collective. Rows [first_row, first_row + count) of the table, [count, dim], on rank 0. `shards` are this
/// rank's, of all tables; of replicas rank 0's is read.
void GatherRows(const TablePlan& table, std::int64_t table_index, std::span<const HeldShard> shards,
                std::int64_t first_row, std::int64_t count, float* out, Communicator& comm);

/// Sets this rank's part of those rows.
void SetRows(std::int64_t table_index, std::span<HeldShard> shards, std::int64_t first_row,
             std::int64_t count, std::int64_t dim, const float* in);

}  // namespace hotrow
