#include "hotrow/plan/check_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/plan/plan_queries.h"

namespace hotrow {
namespace {

using Shards = std::vector<PlanShard>;

// "columns [16, 32)"
std::string Range(const char* what, std::int64_t first, std::int64_t count) {
  return fmt::format("{} [{}, {})", what, first, first + count);
}
std::string RowRange(const PlanShard& s) { return Range("rows", s.first_row, s.rows); }
std::string ColumnRange(const PlanShard& s) { return Range("columns", s.first_column, s.columns); }

// The rules for one table.
class TableChecker {
 public:
  TableChecker(const TablePlan& table, std::int64_t world, const std::string& source)
      : table_(table), world_(world), source_(source), sharding_(ToString(table.sharding)) {}

  void Check() const {
    if (table_.table.empty()) Fail("{}: a table has no name", source_);
    if (table_.rows < 1 || table_.dim < 1) {
      Fail("{}: table '{}': {} rows x {} columns; at least 1 of each is valid", source_, table_.table,
           table_.rows, table_.dim);
    }
    CheckGroupSize();
    if (table_.shards.empty()) Fail("{}: table '{}': no shards hold it", source_, table_.table);
    for (const PlanShard& shard : table_.shards) CheckShard(shard);
    switch (table_.sharding) {
      case ShardingType::kTableWise:
        return CheckTableWise();
      case ShardingType::kColumnWise:
        return CheckColumnWise();
      case ShardingType::kRowWise:
        return CheckRowBlocks(table_.shards, 0, world_);
      case ShardingType::kGrid:
        return CheckGrid();
      case ShardingType::kDataParallel:
        return CheckDataParallel();
    }
  }

 private:
  // "plan: table 't_f0', rank 3: …"
  template <typename... Args>
  [[noreturn]] void FailAt(std::int64_t rank, fmt::format_string<Args...> format, Args&&... args) const {
    Fail("{}: table '{}', rank {}: {}", source_, table_.table, rank,
         fmt::format(format, std::forward<Args>(args)...));
  }

  void CheckGroupSize() const {
    const std::int64_t size = table_.group_size;
    if (table_.sharding != ShardingType::kGrid) {
      if (size == 0) return;
      Fail("{}: table '{}': group_size {} on a {} table; only grid has groups", source_, table_.table, size,
           sharding_);
    }
    if (size < 1 || world_ % size != 0) {
      Fail("{}: table '{}': group_size {} does not divide {} ranks into groups", source_, table_.table, size,
           world_);
    }
  }

  void CheckShard(const PlanShard& s) const {
    if (s.rank < 0 || s.rank >= world_) {
      FailAt(s.rank, "not a rank of a world of {}; valid are 0 to {}", world_, world_ - 1);
    }
    if (s.rows < 1 || s.columns < 1) {
      FailAt(s.rank, "a shard of {} rows x {} columns; a shard holds at least 1 of each", s.rows, s.columns);
    }
    if (s.first_row < 0 || s.first_row >= table_.rows || s.rows > table_.rows - s.first_row) {
      FailAt(s.rank, "{} rows from row {} on are not inside the table's {} rows", s.rows, s.first_row,
             table_.rows);
    }
    if (s.first_column < 0 || s.first_column >= table_.dim || s.columns > table_.dim - s.first_column) {
      FailAt(s.rank, "{} columns from column {} on are not inside the table's {} columns", s.columns,
             s.first_column, table_.dim);
    }
    if (s.first_column % kShardColumnUnit != 0) {
      FailAt(s.rank, "{} start at a column that is not a multiple of {}", ColumnRange(s), kShardColumnUnit);
    }
  }

  void CheckEveryRow(const PlanShard& s) const {
    if (s.rows == table_.rows) return;
    FailAt(s.rank, "{} of {}; a {} shard holds every row", RowRange(s), table_.rows, sharding_);
  }
  void CheckEveryColumn(const PlanShard& s) const {
    if (s.columns == table_.dim) return;
    FailAt(s.rank, "{} of {}; a {} shard holds every column", ColumnRange(s), table_.dim, sharding_);
  }

  void CheckTableWise() const {
    if (table_.shards.size() != 1) {
      FailAt(table_.shards[1].rank, "shard 2 of {}; a table_wise table is one shard on one rank",
             table_.shards.size());
    }
    CheckEveryRow(table_.shards.front());
    CheckEveryColumn(table_.shards.front());
  }

  void CheckColumnWise() const {
    for (const PlanShard& shard : table_.shards) CheckEveryRow(shard);
    CheckColumnsCovered(table_.shards);
  }

  // The shards' columns cover the table's exactly once.
  void CheckColumnsCovered(Shards shards) const {
    std::ranges::stable_sort(shards, {}, &PlanShard::first_column);
    std::int64_t covered = 0;
    const PlanShard* last = nullptr;
    for (const PlanShard& shard : shards) {
      if (shard.first_column < covered) {
        FailAt(shard.rank, "{} overlap {} on rank {}; every column is held once", ColumnRange(shard),
               ColumnRange(*last), last->rank);
      }
      if (shard.first_column > covered) {
        FailAt(shard.rank, "nobody holds {} before its {}; every column is held once",
               Range("columns", covered, shard.first_column - covered), ColumnRange(shard));
      }
      covered = shard.first_column + shard.columns;
      last = &shard;
    }
    if (covered < table_.dim) {
      FailAt(last->rank, "nobody holds {} after its {}; every column is held once",
             Range("columns", covered, table_.dim - covered), ColumnRange(*last));
    }
  }

  // Ranks [first_rank, first_rank + ranks) hold the rows in blocks; columns are looked at only for row_wise.
  void CheckRowBlocks(const Shards& shards, std::int64_t first_rank, std::int64_t ranks) const {
    std::set<std::int64_t> seen;
    for (const PlanShard& shard : shards) {
      const std::int64_t place = shard.rank - first_rank;
      if (place < 0 || place >= ranks) {
        FailAt(shard.rank, "{} {} lie outside the ranks {} to {} of its group", ColumnRange(shard),
               RowRange(shard), first_rank, first_rank + ranks - 1);
      }
      const Slice block = RowBlock(table_.rows, ranks, place);
      if (block.size() == 0) {
        FailAt(shard.rank, "{}; {} rows {} over {} ranks leave it none", RowRange(shard), table_.rows,
               sharding_, ranks);
      }
      if (shard.first_row != block.begin || shard.rows != block.size()) {
        FailAt(shard.rank, "{}; {} rows {} over {} ranks give it {}", RowRange(shard), table_.rows, sharding_,
               ranks, Range("rows", block.begin, block.size()));
      }
      if (table_.sharding == ShardingType::kRowWise) CheckEveryColumn(shard);
      if (!seen.insert(shard.rank).second) {
        FailAt(shard.rank, "{} {} are there twice; every row is held once", ColumnRange(shard),
               RowRange(shard));
      }
    }
    // Fewer shards than blocks: some rank's is missing. The blocks seen are distinct, so counting finds it.
    for (std::int64_t place = 0; place < ranks; ++place) {
      const Slice block = RowBlock(table_.rows, ranks, place);
      if (block.size() == 0) break;
      if (!seen.contains(first_rank + place)) {
        FailAt(first_rank + place, "has no shard with {}; every row is held once",
               Range("rows", block.begin, block.size()));
      }
    }
  }

  void CheckGrid() const {
    std::map<std::int64_t, Shards> slices;
    for (const PlanShard& shard : table_.shards) slices[shard.first_column].push_back(shard);
    Shards fronts;
    for (const auto& [first_column, slice] : slices) {
      const PlanShard& front = slice.front();
      fronts.push_back(front);
      for (const PlanShard& shard : slice) {
        if (shard.columns == front.columns) continue;
        FailAt(shard.rank, "{}, but {} on rank {}; the shards of a grid's slice are equally wide",
               ColumnRange(shard), ColumnRange(front), front.rank);
      }
      CheckRowBlocks(slice, front.rank / table_.group_size * table_.group_size, table_.group_size);
    }
    CheckColumnsCovered(fronts);
  }

  void CheckDataParallel() const {
    std::set<std::int64_t> seen;
    for (const PlanShard& shard : table_.shards) {
      CheckEveryRow(shard);
      CheckEveryColumn(shard);
      if (!seen.insert(shard.rank).second) {
        FailAt(shard.rank, "a second replica; a data_parallel table has one a rank");
      }
    }
    std::int64_t rank = 0;
    for (const std::int64_t present : seen) {
      if (present != rank) break;
      ++rank;
    }
    if (rank < world_) FailAt(rank, "no replica; a data_parallel table has one a rank");
  }

  const TablePlan& table_;
  std::int64_t world_;
  const std::string& source_;
  std::string sharding_;
};

// Names for a message, cut short: a model may have hundreds of tables.
std::string SomeNames(std::span<const TableShape> model) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(model.size(), kShown); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", model[i].name);
  }
  if (model.size() > kShown) text += fmt::format(" and {} more", model.size() - kShown);
  return text.empty() ? "none" : text;
}

}  // namespace

void Validate(const ShardingPlan& plan, const std::string& source) {
  if (plan.world < 1 || plan.world > kMaxPlanWorld) {
    Fail("{}: a world of {} ranks; valid are 1 to {}", source, plan.world, kMaxPlanWorld);
  }
  std::set<std::string> names;
  for (const TablePlan& table : plan.tables) {
    if (!names.insert(table.table).second) Fail("{}: table '{}' is there twice", source, table.table);
    TableChecker(table, plan.world, source).Check();
  }
}

ShardingPlan PlanForModel(ShardingPlan plan, std::span<const TableShape> model, std::int64_t world,
                          const std::string& source) {
  Validate(plan, source);
  if (plan.world != world) {
    Fail("{}: made for a world of {} ranks, but this one has {}", source, plan.world, world);
  }
  std::map<std::string, TablePlan> by_name;
  for (TablePlan& table : plan.tables) {
    std::string name = table.table;
    by_name.emplace(std::move(name), std::move(table));
  }
  ShardingPlan ordered{.world = world, .tables = {}};
  for (const TableShape& table : model) {
    auto found = by_name.extract(table.name);
    if (found.empty()) {
      Fail(
          "{}: made for another model: no table '{}', which the model has; `hotrow plan make` with the "
          "model's --format or --schema plans for its tables",
          source, table.name);
    }
    const TablePlan& planned = found.mapped();
    if (planned.rows != table.rows || planned.dim != table.dim) {
      Fail("{}: made for another model: table '{}' is {} rows x {} columns there, {} x {} in the model",
           source, table.name, planned.rows, planned.dim, table.rows, table.dim);
    }
    ordered.tables.push_back(std::move(found.mapped()));
  }
  if (!by_name.empty()) {
    Fail("{}: made for another model: table '{}' is not in the model, which has {}", source,
         by_name.begin()->first, SomeNames(model));
  }
  return ordered;
}

bool PromisesBits(const ShardingPlan& plan) {
  return std::ranges::none_of(plan.tables, [](const TablePlan& table) {
    return table.sharding == ShardingType::kRowWise || table.sharding == ShardingType::kGrid;
  });
}

}  // namespace hotrow
