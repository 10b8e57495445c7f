#include "hotrow/sharded/shard_rows.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"

namespace hotrow {
namespace {

// Rows that a shard has of [first, first + count), counted in the table.
Slice Overlap(const PlanShard& shard, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = std::max(first, shard.first_row);
  return {begin, std::max(begin, std::min(first + count, shard.first_row + shard.rows))};
}

// A table's shards whose rows rank 0 gathers, by (rank, first_column, first_row).
std::vector<PlanShard> Sources(const TablePlan& table) {
  std::vector<PlanShard> shards;
  for (const PlanShard& shard : table.shards) {
    if (table.sharding != ShardingType::kDataParallel || shard.rank == 0) shards.push_back(shard);
  }
  std::sort(shards.begin(), shards.end(), [](const PlanShard& a, const PlanShard& b) {
    return std::tuple(a.rank, a.first_column, a.first_row) < std::tuple(b.rank, b.first_column, b.first_row);
  });
  return shards;
}

}  // namespace

void GatherRows(const TablePlan& table, std::int64_t table_index, std::span<const HeldShard> shards,
                std::int64_t first_row, std::int64_t count, float* out, Communicator& comm) {
  const std::vector<PlanShard> sources = Sources(table);
  std::vector<float> mine;
  for (const HeldShard& shard : shards) {  // in the order of `sources`
    if (shard.table_index != table_index || (shard.replica && comm.rank() != 0)) continue;
    const Slice rows = Overlap(shard.place, first_row, count);
    if (rows.size() == 0) continue;
    const std::size_t begin = mine.size();
    mine.resize(begin + Index(rows.size() * shard.place.columns));
    shard.table->ReadRows(rows.begin - shard.place.first_row, rows.size(), mine.data() + begin);
  }
  std::vector<std::vector<float>> received(Index(comm.size()));
  Parts<float> parts(comm);
  parts.Send(0, mine);
  if (comm.rank() == 0) {
    for (const PlanShard& shard : sources) {
      std::vector<float>& of_rank = received[Index(shard.rank)];
      const std::int64_t floats = Overlap(shard, first_row, count).size() * shard.columns;
      of_rank.resize(of_rank.size() + Index(floats));
    }
    for (int r = 0; r < comm.size(); ++r) parts.Receive(r, received[Index(r)]);
  }
  parts.Start(comm).Wait();
  if (comm.rank() != 0) return;
  std::vector<const float*> next;
  for (const std::vector<float>& of_rank : received) next.push_back(of_rank.data());
  for (const PlanShard& shard : sources) {
    const Slice rows = Overlap(shard, first_row, count);
    const float*& from = next[Index(shard.rank)];
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      std::copy_n(from, shard.columns, out + (row - first_row) * table.dim + shard.first_column);
      from += shard.columns;
    }
  }
}

void SetRows(std::int64_t table_index, std::span<HeldShard> shards, std::int64_t first_row,
             std::int64_t count, std::int64_t dim, const float* in) {
  std::vector<float> part;
  for (HeldShard& shard : shards) {
    if (shard.table_index != table_index) continue;
    const Slice rows = Overlap(shard.place, first_row, count);
    if (rows.size() == 0) continue;
    part.clear();
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const float* from = in + (row - first_row) * dim + shard.place.first_column;
      part.insert(part.end(), from, from + shard.place.columns);
    }
    shard.table->WriteRows(rows.begin - shard.place.first_row, rows.size(), part.data());
  }
}

}  // namespace hotrow
