#include "hotrow/embed/gather_limit.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "hotrow/base/rng.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

constexpr std::int64_t kRows = 2'000'000;
constexpr std::int64_t kTaskRows = 20'000;
constexpr std::int64_t kAhead = 48;
constexpr std::int64_t kLineFloats = 16;

struct Row {
  const float* data;
  std::int64_t dim;
};

// Random resident rows; tries absent ones again, a bounded number of times.
std::vector<Row> DrawRows(std::span<const EmbeddingTable* const> tables) {
  std::vector<std::int64_t> last;  // rows of tables 0 … t
  std::int64_t total = 0;
  for (const EmbeddingTable* table : tables) last.push_back(total += table->rows());
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(kRows));
  RandomSequence random(0, RandomStream::kSyntheticIds, 1);
  for (std::int64_t tries = 0; tries < 8 * kRows && total > 0 && std::ssize(rows) < kRows; ++tries) {
    const std::int64_t global = random.NextBelow(total);
    const auto t = std::upper_bound(last.begin(), last.end(), global) - last.begin();
    const EmbeddingTable& table = *tables[static_cast<std::size_t>(t)];
    const float* data = table.view().Find(last[static_cast<std::size_t>(t)] - 1 - global);
    if (data != nullptr) rows.push_back({data, table.dim()});
  }
  return rows;
}

// One load a cache line is what reading a row costs; the sum keeps the loads.
float ReadRow(const Row& row) {
  float sum = 0;
  for (std::int64_t c = 0; c < row.dim; c += kLineFloats) sum += row.data[c];
  return sum;
}

}  // namespace

GatherRate MeasureGatherLimit(std::span<const EmbeddingTable* const> tables, ThreadPool& pool) {
  const std::vector<Row> rows = DrawRows(tables);
  const auto count = static_cast<std::int64_t>(rows.size());
  if (count == 0) return {};
  std::int64_t floats = 0;
  for (const Row& row : rows) floats += row.dim;
  const std::int64_t tasks = CeilDiv(count, kTaskRows);
  std::vector<float> sums(static_cast<std::size_t>(tasks));
  double best = std::numeric_limits<double>::max();
  for (int pass = 0; pass < 3; ++pass) {
    const double begin = NowSeconds();
    pool.Run(tasks, [&](std::int64_t task, int) {
      const std::int64_t end = std::min(count, (task + 1) * kTaskRows);
      float sum = 0;
      for (std::int64_t i = task * kTaskRows; i < end; ++i) {
        const Row& ahead = rows[static_cast<std::size_t>(std::min(i + kAhead, count - 1))];
        for (std::int64_t c = 0; c < ahead.dim; c += kLineFloats) __builtin_prefetch(ahead.data + c, 0, 2);
        sum += ReadRow(rows[static_cast<std::size_t>(i)]);
      }
      sums[static_cast<std::size_t>(task)] = sum;
    });
    best = std::min(best, NowSeconds() - begin);
  }
  // A use the compiler cannot drop; no real sum is this one.
  if (sums[0] == -1e30F) return {};
  return {static_cast<double>(count) / best, static_cast<double>(floats) / best};
}

}  // namespace hotrow
