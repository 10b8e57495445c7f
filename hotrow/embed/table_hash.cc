#include "hotrow/embed/table_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kFloatsATask = 1 << 18;
constexpr int kPlaneShift = 56;

struct Group {
  std::uint64_t name = 0;
  std::uint64_t row = 0;
  std::uint64_t group = 0;
  float values[4] = {};
};
static_assert(sizeof(Group) == 40, "no padding: every byte is hashed");

// The groups of one row's `count` values; group.group starts at `first_group`.
std::uint64_t HashRow(Group group, std::uint64_t first_group, const float* values, std::int64_t count) {
  std::uint64_t sum = 0;
  group.group = first_group;
  std::int64_t c = 0;
  for (; c + 4 <= count; c += 4, ++group.group) {
    std::memcpy(group.values, values + c, sizeof(group.values));
    sum += XXH3_64bits(&group, sizeof(group));
  }
  if (c == count) return sum;
  std::fill_n(group.values, 4, 0.0F);
  std::copy(values + c, values + count, group.values);
  return sum + XXH3_64bits(&group, sizeof(group));
}

// Sums hash_row(group with name and row set, row) over all rows; `row` is the shard's.
template <typename HashRowOf>
std::uint64_t HashRows(const EmbeddingTable& table, std::int64_t width, ThreadPool& pool,
                       HashRowOf&& hash_row) {
  Group start;
  start.name = XXH3_64bits(table.name().data(), table.name().size());
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, kFloatsATask / width);
  std::atomic<std::uint64_t> total{0};
  pool.Run(CeilDiv(table.rows(), rows_a_task), [&](std::int64_t task, int) {
    const std::int64_t end = std::min(table.rows(), (task + 1) * rows_a_task);
    std::vector<float> generated(Index(width));
    Group group = start;
    std::uint64_t sum = 0;
    for (std::int64_t row = task * rows_a_task; row < end; ++row) {
      group.row = static_cast<std::uint64_t>(table.shard().first_row + row);
      sum += hash_row(group, row, generated.data());
    }
    total.fetch_add(sum, std::memory_order_relaxed);
  });
  return total;
}

}  // namespace

std::uint64_t HashWeights(const EmbeddingTable& table, ThreadPool& pool) {
  const RowsView view = table.view();
  const auto first_group = static_cast<std::uint64_t>(table.shard().first_column / 4);
  return HashRows(table, table.dim(), pool, [&](const Group& group, std::int64_t row, float* generated) {
    const float* weights = view.Find(row);
    if (weights == nullptr) {
      table.InitialRow(row, generated);
      weights = generated;
    }
    return HashRow(group, first_group, weights, table.dim());
  });
}

std::uint64_t HashState(const EmbeddingTable& table, ThreadPool& pool) {
  const RowsView view = table.view();
  const std::int64_t width = table.state_width();
  if (width == 0) return 0;
  const bool row_wise = table.optimizer().kind == OptimizerKind::kRowWiseAdagrad;
  if (row_wise && table.shard().first_column != 0) return 0;
  const std::int64_t plane_width = row_wise ? 1 : table.dim();
  const auto first_group = static_cast<std::uint64_t>(table.shard().first_column / 4);
  const std::vector<float> fresh(Index(width), InitialState(table.optimizer()));
  return HashRows(table, width, pool, [&](const Group& group, std::int64_t row, const float*) {
    const std::int64_t slot = view.Slot(row);
    const float* state = slot < 0 ? fresh.data() : view.State(slot);
    std::uint64_t sum = 0;
    for (std::int64_t plane = 0; plane * plane_width < width; ++plane) {
      sum += HashRow(group, first_group + (static_cast<std::uint64_t>(plane) << kPlaneShift),
                     state + plane * plane_width, plane_width);
    }
    return sum;
  });
}

}  // namespace hotrow
