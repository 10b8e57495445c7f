#include "tests/support/uneven_plans.h"

#include <algorithm>
#include <array>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/plan/plan_queries.h"

namespace hotrow {
namespace {

// Unequal widths, multiples of 4 but for the last.
std::vector<Slice> CutColumns(std::int64_t dim, std::int64_t turn) {
  std::vector<Slice> columns;
  for (std::int64_t begin = 0; begin < dim; begin = columns.back().end) {
    const std::int64_t width = 4 * (1 + (turn + std::ssize(columns)) % 3);
    columns.push_back({begin, std::min(dim, begin + width)});
  }
  return columns;
}

void AddRowBlocks(TablePlan& table, std::int64_t first_rank, std::int64_t ranks, Slice columns) {
  for (std::int64_t r = 0; r < ranks; ++r) {
    const Slice rows = RowBlock(table.rows, ranks, r);
    if (rows.size() > 0)
      table.shards.push_back({first_rank + r, rows.begin, rows.size(), columns.begin, columns.size()});
  }
}

ShardingType TypeOf(PlanOf plan, std::size_t t) {
  using enum ShardingType;
  switch (plan) {
    case PlanOf::kTableWise:
      return kTableWise;
    case PlanOf::kColumnWise:
      return kColumnWise;
    case PlanOf::kRowWise:
      return kRowWise;
    case PlanOf::kGrid:
      return kGrid;
    case PlanOf::kDataParallel:
      return kDataParallel;
    case PlanOf::kMixed:
      return std::array{kColumnWise, kDataParallel, kTableWise}[t % 3];
    case PlanOf::kMixedWithRows:
      return std::array{kRowWise, kGrid, kDataParallel, kColumnWise, kTableWise}[t % 5];
  }
  return {};
}

TablePlan PlanTable(ShardingType sharding, const EmbeddingTableConfig& config, std::int64_t turn,
                    std::int64_t world) {
  TablePlan table{config.name, config.num_embeddings, config.embedding_dim, sharding, 0, {}};
  switch (sharding) {
    case ShardingType::kTableWise:
      table.shards = {{(turn + 1) % world, 0, table.rows, 0, table.dim}};
      break;
    case ShardingType::kColumnWise:
      for (const Slice columns : CutColumns(table.dim, turn)) {
        const std::int64_t shard = std::ssize(table.shards);
        // Every third shard is on the rank of the one before.
        table.shards.push_back(
            {(shard - shard / 3 + turn) % world, 0, table.rows, columns.begin, columns.size()});
      }
      break;
    case ShardingType::kRowWise:
      AddRowBlocks(table, 0, world, {0, table.dim});
      break;
    case ShardingType::kGrid:
      table.group_size = world % 2 == 0 ? 2 : 1;
      for (const Slice columns : CutColumns(table.dim, turn)) {
        const std::int64_t group = (std::ssize(table.shards) + turn) % (world / table.group_size);
        AddRowBlocks(table, group * table.group_size, table.group_size, columns);
      }
      break;
    case ShardingType::kDataParallel:
      for (std::int64_t r = 0; r < world; ++r) table.shards.push_back({r, 0, table.rows, 0, table.dim});
      break;
  }
  return table;
}

}  // namespace

std::string ToString(PlanOf plan) {
  return std::array{"table_wise",    "column_wise", "row_wise",       "grid",
                    "data_parallel", "mixed",       "mixed with rows"}[static_cast<std::size_t>(plan)];
}

bool PromisesBits(PlanOf plan) {
  return plan != PlanOf::kRowWise && plan != PlanOf::kGrid && plan != PlanOf::kMixedWithRows;
}

ShardingPlan UnevenPlan(PlanOf plan, std::span<const EmbeddingTableConfig> tables, std::int64_t world) {
  ShardingPlan out{world, {}};
  for (std::size_t t = 0; t < tables.size(); ++t)
    out.tables.push_back(PlanTable(TypeOf(plan, t), tables[t], static_cast<std::int64_t>(t), world));
  return out;
}

}  // namespace hotrow
