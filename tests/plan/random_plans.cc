#include "random_plans.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "hotrow/base/size.h"

namespace hotrow::testing {
namespace {

// Random cuts of [0, dim) at multiples of 4.
std::vector<Slice> RandomColumns(Random& random, std::int64_t dim) {
  std::vector<Slice> parts;
  for (std::int64_t begin = 0; begin < dim;) {
    const std::int64_t end = std::min(dim, begin + 4 * Uniform(random, 1, CeilDiv(dim, 4)));
    parts.push_back({begin, end});
    begin = end;
  }
  return parts;
}

void AddBlocks(TablePlan& plan, std::int64_t first_rank, std::int64_t ranks, const Slice& columns) {
  const std::int64_t block = (plan.rows + ranks - 1) / ranks;
  for (std::int64_t r = 0; r * block < plan.rows; ++r) {
    plan.shards.push_back(
        {first_rank + r, r * block, std::min(block, plan.rows - r * block), columns.begin, columns.size()});
  }
}

std::int64_t RandomDivisor(Random& random, std::int64_t n) {
  std::int64_t d = Uniform(random, 1, n);
  while (n % d != 0) --d;
  return d;
}

}  // namespace

std::int64_t Uniform(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

TableShape Table(const std::string& name, std::int64_t rows, std::int64_t dim, double ids_per_sample,
                 std::int64_t feature) {
  return {.name = name,
          .rows = rows,
          .dim = dim,
          .state_per_element = 1,
          .state_per_row = 0,
          .ids_per_sample = ids_per_sample,
          .features = {feature}};
}

std::vector<TableShape> RandomModel(Random& random, std::int64_t tables) {
  std::vector<TableShape> model;
  std::int64_t features = 0;
  for (std::int64_t t = 0; t < tables; ++t) {
    std::int64_t rows = 1;
    for (std::int64_t digits = Uniform(random, 0, 7); digits > 0; --digits) rows *= 10;
    TableShape shape = Table("t" + std::to_string(t), Uniform(random, 1, rows), Uniform(random, 1, 260),
                             static_cast<double>(Uniform(random, 0, 100)));
    shape.state_per_element = Uniform(random, 0, 2);
    shape.state_per_row = Uniform(random, 0, 1);
    shape.features.resize(static_cast<std::size_t>(Uniform(random, 1, 3)));
    features += static_cast<std::int64_t>(shape.features.size());
    model.push_back(shape);
  }
  std::vector<std::int64_t> positions(static_cast<std::size_t>(features));
  std::iota(positions.begin(), positions.end(), 0);
  std::ranges::shuffle(positions, random);
  for (TableShape& shape : model) {
    for (std::int64_t& feature : shape.features) {
      feature = positions.back();
      positions.pop_back();
    }
  }
  return model;
}

ShardingPlan RandomMixedPlan(Random& random, const std::vector<TableShape>& model, std::int64_t world) {
  ShardingPlan plan{.world = world, .tables = {}};
  const auto any_rank = [&] { return Uniform(random, 0, world - 1); };
  for (const TableShape& shape : model) {
    TablePlan table;
    table.table = shape.name;
    table.rows = shape.rows;
    table.dim = shape.dim;
    table.sharding = static_cast<ShardingType>(Uniform(random, 0, 4));
    const Slice all{0, shape.dim};
    switch (table.sharding) {
      case ShardingType::kTableWise:
        table.shards = {{any_rank(), 0, shape.rows, 0, shape.dim}};
        break;
      case ShardingType::kColumnWise:
        for (const Slice& c : RandomColumns(random, shape.dim)) {
          table.shards.push_back({any_rank(), 0, shape.rows, c.begin, c.size()});
        }
        break;
      case ShardingType::kRowWise:
        AddBlocks(table, 0, world, all);
        break;
      case ShardingType::kGrid:
        table.group_size = RandomDivisor(random, world);
        for (const Slice& c : RandomColumns(random, shape.dim)) {
          AddBlocks(table, any_rank() / table.group_size * table.group_size, table.group_size, c);
        }
        break;
      case ShardingType::kDataParallel:
        for (std::int64_t r = 0; r < world; ++r) table.shards.push_back({r, 0, shape.rows, 0, shape.dim});
        break;
    }
    std::ranges::shuffle(table.shards, random);
    plan.tables.push_back(table);
  }
  return plan;
}

ShardingPlan RandomNonsense(Random& random) {
  const auto number = [&random]() -> std::int64_t {
    switch (Uniform(random, 0, 4)) {
      case 0:
        return std::numeric_limits<std::int64_t>::min();
      case 1:
        return std::numeric_limits<std::int64_t>::max();
      case 2:
        return static_cast<std::int64_t>(random());
      default:
        return Uniform(random, -2, 9);
    }
  };
  ShardingPlan plan{.world = number(), .tables = {}};
  for (std::int64_t t = Uniform(random, 0, 4); t > 0; --t) {
    TablePlan table;
    table.table = Uniform(random, 0, 5) == 0 ? "" : "t\n\x1b[1mü" + std::to_string(t % 3);
    table.rows = number();
    table.dim = number();
    table.sharding = static_cast<ShardingType>(Uniform(random, 0, 4));
    if (table.sharding == ShardingType::kGrid) table.group_size = number();
    for (std::int64_t s = Uniform(random, 0, 6); s > 0; --s) {
      table.shards.push_back({number(), number(), number(), number(), number()});
    }
    plan.tables.push_back(table);
  }
  return plan;
}

}  // namespace hotrow::testing
