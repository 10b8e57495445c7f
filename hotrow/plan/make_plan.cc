#include "hotrow/plan/make_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/plan/plan_queries.h"

namespace hotrow {
namespace {

// What a shard costs its rank: ids x width, and bytes. In shares of the whole, where the two are compared.
struct Cost {
  double ids = 0;
  double bytes = 0;

  double larger() const { return std::max(ids, bytes); }
  double sum() const { return ids + bytes; }
};

// Part of a table that the balance places as one.
struct Piece {
  std::size_t table = 0;
  Slice columns;
  Cost cost;
};

PlanShard WholeTable(const TableShape& table, std::int64_t rank) {
  return {.rank = rank, .first_row = 0, .rows = table.rows, .first_column = 0, .columns = table.dim};
}

TablePlan EmptyPlan(const TableShape& table, ShardingType sharding) {
  return {.table = table.name,
          .rows = table.rows,
          .dim = table.dim,
          .sharding = sharding,
          .group_size = 0,
          .shards = {}};
}

double IdsByWidth(const TableShape& table) { return table.ids_per_sample * static_cast<double>(table.dim); }

double Bytes(const TableShape& table) {
  const auto dim = static_cast<double>(table.dim);
  return static_cast<double>(table.rows) * (dim + table.StateOfRow(dim)) * sizeof(float);
}

// Place of each piece among `bins`: the costliest first, each to the bin whose larger cost stays the least.
// Equal pieces go in their order; between bins that are equally good the lowest wins. So pieces of one cost
// alone leave no bin above the mean by more than a piece.
std::vector<std::int64_t> Balance(const std::vector<Piece>& pieces, std::int64_t bins) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return pieces[a].cost.larger() > pieces[b].cost.larger(); });
  std::vector<Cost> load(Index(bins));
  std::vector<std::int64_t> pieces_in(load.size(), 0);
  std::vector<std::int64_t> bin_of(pieces.size());
  for (const std::size_t p : order) {
    const Cost& cost = pieces[p].cost;
    const auto with_piece = [&](std::size_t bin) {
      const Cost after{load[bin].ids + cost.ids, load[bin].bytes + cost.bytes};
      // Pieces that cost nothing (no ids) are still spread: by count.
      return std::tuple(after.larger(), after.sum(), pieces_in[bin]);
    };
    std::size_t best = 0;
    for (std::size_t bin = 1; bin < load.size(); ++bin) {
      if (with_piece(bin) < with_piece(best)) best = bin;
    }
    load[best].ids += cost.ids;
    load[best].bytes += cost.bytes;
    ++pieces_in[best];
    bin_of[p] = static_cast<std::int64_t>(best);
  }
  return bin_of;
}

std::vector<Piece> WholePieces(std::span<const TableShape> tables) {
  std::vector<Piece> pieces;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    pieces.push_back({t, {0, tables[t].dim}, {.ids = IdsByWidth(tables[t]), .bytes = 0}});
  }
  return pieces;
}

// "1, 2, 4, 8": rank counts that divide dim into widths that are multiples of 4.
std::string FittingWorlds(std::int64_t dim) {
  std::string text;
  for (std::int64_t world = 1; world <= std::min(dim, kMaxPlanWorld); ++world) {
    const bool fits = world == 1 || (dim % world == 0 && dim / world % kShardColumnUnit == 0);
    if (fits) text += fmt::format("{}{}", text.empty() ? "" : ", ", world);
  }
  return text;
}

void CheckColumnWise(const TableShape& table, std::int64_t world) {
  const std::int64_t unit = world * kShardColumnUnit;
  if (world == 1 || table.dim % unit == 0) return;
  const std::int64_t below = table.dim / unit * unit;
  Fail(
      "column_wise: table '{}': {} columns over {} ranks; every rank's width must be equal and a "
      "multiple of {}. Ranks that fit {} columns: {}. Dims that fit {} ranks: multiples of {}, such as "
      "{}{}. A plan file may hold unequal shards",
      table.name, table.dim, world, kShardColumnUnit, table.dim, FittingWorlds(table.dim), world, unit,
      below > 0 ? fmt::format("{} and ", below) : "", below + unit);
}

std::int64_t GroupSize(std::int64_t world, std::int64_t asked) {
  if (asked != 0) {
    if (asked < 1 || world % asked != 0) {
      std::string divisors;
      for (std::int64_t d = 1; d <= world; ++d) {
        if (world % d == 0) divisors += fmt::format("{}{}", divisors.empty() ? "" : ", ", d);
      }
      Fail("grid: groups of {} ranks do not divide a world of {}; valid are {}", asked, world, divisors);
    }
    return asked;
  }
  std::int64_t size = 1;
  while (world % size != 0 || size * size < world) ++size;
  return size;
}

void AddRowBlocks(TablePlan& plan, std::int64_t first_rank, std::int64_t ranks) {
  for (std::int64_t place = 0; place < ranks; ++place) {
    const Slice block = RowBlock(plan.rows, ranks, place);
    if (block.size() == 0) break;
    plan.shards.push_back({first_rank + place, block.begin, block.size(), 0, plan.dim});
  }
}

// One table by a rule that looks at no other table.
TablePlan PlanTable(PlanKind kind, const TableShape& table, std::int64_t world) {
  if (kind == PlanKind::kRowWise) {
    TablePlan plan = EmptyPlan(table, ShardingType::kRowWise);
    AddRowBlocks(plan, 0, world);
    return plan;
  }
  if (kind == PlanKind::kDataParallel) {
    TablePlan plan = EmptyPlan(table, ShardingType::kDataParallel);
    for (std::int64_t rank = 0; rank < world; ++rank) plan.shards.push_back(WholeTable(table, rank));
    return plan;
  }
  HOTROW_CHECK(kind == PlanKind::kColumnWise);
  CheckColumnWise(table, world);
  TablePlan plan = EmptyPlan(table, ShardingType::kColumnWise);
  const std::int64_t width = table.dim / world;
  for (std::int64_t rank = 0; rank < world; ++rank) {
    plan.shards.push_back({rank, 0, table.rows, rank * width, width});
  }
  return plan;
}

std::vector<TablePlan> PlanTableWise(std::span<const TableShape> tables, std::int64_t world) {
  const std::vector<std::int64_t> rank_of = Balance(WholePieces(tables), world);
  std::vector<TablePlan> plans;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    plans.push_back(EmptyPlan(tables[t], ShardingType::kTableWise));
    plans.back().shards.push_back(WholeTable(tables[t], rank_of[t]));
  }
  return plans;
}

std::vector<TablePlan> PlanGrid(std::span<const TableShape> tables, std::int64_t world,
                                std::int64_t group_size) {
  const std::vector<std::int64_t> group_of = Balance(WholePieces(tables), world / group_size);
  std::vector<TablePlan> plans;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    plans.push_back(EmptyPlan(tables[t], ShardingType::kGrid));
    plans.back().group_size = group_size;
    AddRowBlocks(plans.back(), group_of[t] * group_size, group_size);
  }
  return plans;
}

// Columns [0, dim) in at most `pieces` parts of whole column units, as even as those allow.
std::vector<Slice> SplitColumns(std::int64_t dim, std::int64_t pieces) {
  const std::int64_t units = CeilDiv(dim, kShardColumnUnit);
  pieces = std::min(pieces, units);
  std::vector<Slice> parts;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Slice part = EvenSlice(units, pieces, i);
    parts.push_back({part.begin * kShardColumnUnit, std::min(dim, part.end * kShardColumnUnit)});
  }
  return parts;
}

std::vector<TablePlan> PlanAuto(std::span<const TableShape> tables, std::int64_t world) {
  double all_ids = 0;
  double all_bytes = 0;
  for (const TableShape& table : tables) {
    all_ids += IdsByWidth(table);
    all_bytes += Bytes(table);
  }
  std::vector<Piece> pieces;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Cost share{.ids = all_ids > 0 ? IdsByWidth(tables[t]) / all_ids : 0.0,
                     .bytes = Bytes(tables[t]) / all_bytes};
    // The margin keeps a table of exactly a fair share whole whatever its share was rounded to.
    const double fair_shares = share.larger() * static_cast<double>(world) - 1e-6;
    const auto wanted = std::clamp(static_cast<std::int64_t>(std::ceil(fair_shares)), std::int64_t{1}, world);
    for (const Slice& columns : SplitColumns(tables[t].dim, wanted)) {
      const double part = static_cast<double>(columns.size()) / static_cast<double>(tables[t].dim);
      pieces.push_back({t, columns, {share.ids * part, share.bytes * part}});
    }
  }
  const std::vector<std::int64_t> rank_of = Balance(pieces, world);
  std::vector<TablePlan> plans;
  for (const TableShape& table : tables) plans.push_back(EmptyPlan(table, ShardingType::kTableWise));
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    TablePlan& plan = plans[pieces[p].table];
    const Slice& columns = pieces[p].columns;
    if (!plan.shards.empty() && plan.shards.back().rank == rank_of[p]) {
      plan.shards.back().columns += columns.size();  // neighbours that met again
    } else {
      plan.shards.push_back({rank_of[p], 0, plan.rows, columns.begin, columns.size()});
    }
    plan.sharding = plan.shards.size() == 1 ? ShardingType::kTableWise : ShardingType::kColumnWise;
  }
  return plans;
}

}  // namespace

PlanKind ParsePlanKind(const std::string& text) {
  if (text == "table_wise") return PlanKind::kTableWise;
  if (text == "column_wise") return PlanKind::kColumnWise;
  if (text == "row_wise") return PlanKind::kRowWise;
  if (text == "grid") return PlanKind::kGrid;
  if (text == "data_parallel") return PlanKind::kDataParallel;
  if (text == "auto") return PlanKind::kAuto;
  Fail("sharding: '{}' is none of table_wise, column_wise, row_wise, grid, data_parallel, auto", text);
}

ShardingPlan MakePlan(PlanKind kind, std::span<const TableShape> tables, std::int64_t world,
                      const PlanOptions& options) {
  if (world < 1 || world > kMaxPlanWorld) {
    Fail("sharding: a world of {} ranks; valid are 1 to {}", world, kMaxPlanWorld);
  }
  ShardingPlan plan{.world = world, .tables = {}};
  switch (kind) {
    case PlanKind::kTableWise:
      plan.tables = PlanTableWise(tables, world);
      return plan;
    case PlanKind::kGrid:
      plan.tables = PlanGrid(tables, world, GroupSize(world, options.group_size));
      return plan;
    case PlanKind::kAuto:
      plan.tables = PlanAuto(tables, world);
      return plan;
    case PlanKind::kColumnWise:
    case PlanKind::kRowWise:
    case PlanKind::kDataParallel:
      break;
  }
  for (const TableShape& table : tables) plan.tables.push_back(PlanTable(kind, table, world));
  return plan;
}

}  // namespace hotrow
