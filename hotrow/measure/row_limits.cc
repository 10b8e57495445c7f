#include "hotrow/measure/row_limits.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/rng.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

constexpr std::int64_t kRows = 2'000'000;
constexpr std::int64_t kTaskRows = 20'000;
constexpr std::int64_t kAhead = 48;
constexpr std::int64_t kLineFloats = 16;

struct Row {
  float* data;
  std::int64_t dim;    // floats a lookup reads
  std::int64_t width;  // floats an update touches
  float* state;        // state that lies elsewhere, or null: one number
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
    const RowsView view = table.view();
    const std::int64_t slot = view.Slot(last[static_cast<std::size_t>(t)] - 1 - global);
    if (slot < 0) continue;
    rows.push_back({view.Row(slot), table.dim(), view.layout.together,
                    view.layout.apart > 0 ? view.State(slot) : nullptr});
  }
  return rows;
}

void Fetch(const float* data, std::int64_t floats) {
  for (std::int64_t c = 0; c < floats; c += kLineFloats) __builtin_prefetch(data + c, 0, 2);
}

// visit(begin, end) for all rows, by all threads; the rate of the best of three passes.
template <typename Visit>
RowRate BestRate(std::span<const Row> rows, ThreadPool& pool, Visit&& visit) {
  const auto count = std::ssize(rows);
  if (count == 0) return {};
  double seconds = std::numeric_limits<double>::max();
  for (int pass = 0; pass < 3; ++pass) {
    const double begin = NowSeconds();
    pool.Run(CeilDiv(count, kTaskRows), [&](std::int64_t task, int) {
      visit(task * kTaskRows, std::min(count, (task + 1) * kTaskRows));
    });
    seconds = std::min(seconds, NowSeconds() - begin);
  }
  std::int64_t weights = 0;
  for (const Row& row : rows) weights += row.dim;
  return {static_cast<double>(count) / seconds, static_cast<double>(weights) / seconds};
}

const Row& Ahead(std::span<const Row> rows, std::int64_t i) {
  return rows[static_cast<std::size_t>(std::min(i + kAhead, std::ssize(rows) - 1))];
}

// One access a cache line is what a row costs. They are volatile: the compiler sees no use of them.
RowRate GatherRate(std::span<const Row> rows, ThreadPool& pool) {
  return BestRate(rows, pool, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Fetch(Ahead(rows, i).data, Ahead(rows, i).dim);
      const Row& row = rows[static_cast<std::size_t>(i)];
      const volatile float* data = row.data;
      for (std::int64_t c = 0; c < row.dim; c += kLineFloats) static_cast<void>(data[c]);
    }
  });
}

RowRate UpdateRate(std::span<const Row> rows, ThreadPool& pool) {
  return BestRate(rows, pool, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Row& ahead = Ahead(rows, i);
      Fetch(ahead.data, ahead.width);
      if (ahead.state != nullptr) Fetch(ahead.state, 1);
      const Row& row = rows[static_cast<std::size_t>(i)];
      volatile float* data = row.data;
      for (std::int64_t c = 0; c < row.width; c += kLineFloats) data[c] = data[c];
      if (row.state == nullptr) continue;
      volatile float* state = row.state;
      *state = *state;
    }
  });
}

}  // namespace

RowLimits MeasureRowLimits(std::span<const EmbeddingTable* const> tables, ThreadPool& pool) {
  std::vector<Row> rows = DrawRows(tables);
  RowLimits limits;
  limits.gather = GatherRate(rows, pool);
  // Distinct, so that no two threads write one row.
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return std::less<>()(a.data, b.data); });
  rows.erase(
      std::unique(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.data == b.data; }),
      rows.end());
  limits.update = UpdateRate(rows, pool);
  return limits;
}

RowWork CountRowWork(const ModelConfig& model, const SyntheticConfig& data, std::int64_t global_batch,
                     ThreadPool& pool) {
  Batch batch;
  SyntheticSource(data, &pool).Fill(0, 0, global_batch, batch);
  std::vector<RowWork> of_tables(model.tables.size());
  pool.Run(std::ssize(of_tables), [&](std::int64_t t, int) {
    const EmbeddingTableConfig& table = model.tables[Index(t)];
    std::vector<std::int64_t> rows;
    for (std::size_t f = 0; f < model.features.size(); ++f) {
      if (std::ranges::count(table.feature_names, model.features[f]) == 0) continue;
      const std::span<const std::int64_t> ids = batch.sparse.feature(static_cast<std::int64_t>(f)).ids;
      rows.insert(rows.end(), ids.begin(), ids.end());
    }
    RowWork& work = of_tables[Index(t)];
    work.rows_read = std::ssize(rows);
    std::sort(rows.begin(), rows.end());
    work.rows_updated = std::unique(rows.begin(), rows.end()) - rows.begin();
    work.weights_read = work.rows_read * table.embedding_dim;
    work.weights_updated = work.rows_updated * table.embedding_dim;
  });
  RowWork sum;
  for (const RowWork& work : of_tables) {
    sum.rows_read += work.rows_read;
    sum.rows_updated += work.rows_updated;
    sum.weights_read += work.weights_read;
    sum.weights_updated += work.weights_updated;
  }
  return sum;
}

WorldRowLimits MeasureRowLimits(const ShardedEmbeddingBagCollection& embeddings, Communicator& comm,
                                ThreadPool& pool) {
  double rows = 0;
  double weights = 0;
  for (std::int64_t t = 0; t < embeddings.num_tables(); ++t) {
    const auto table_rows = static_cast<double>(embeddings.table_config(t).num_embeddings);
    rows += table_rows;
    weights += table_rows * static_cast<double>(embeddings.table_config(t).embedding_dim);
  }
  comm.Barrier();
  const RowLimits mine = MeasureRowLimits(embeddings.shards(), pool);
  const double gather = AllReduceSum(comm, mine.gather.weights_per_s);
  const double update = AllReduceSum(comm, mine.update.weights_per_s);
  const double width = weights / rows;
  return {gather / width, update / width, gather, update};
}

}  // namespace hotrow
