#include "hotrow/embed/table_hash.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <vector>

namespace hotrow {
namespace {

EmbeddingTableConfig Config(std::int64_t dim) { return {"table", 333, dim, PoolingType::kSum, {}}; }

std::unique_ptr<EmbeddingTable> Make(std::int64_t dim, OptimizerKind kind, StorageKind storage,
                                     ThreadPool& pool, TableShard shard = {}) {
  EmbeddingTableConfig config = Config(dim);
  config.optimizer.kind = kind;
  auto table = std::make_unique<EmbeddingTable>(config, shard, storage, 0, 4, pool);
  const std::int64_t row = 7 - shard.first_row;
  if (row < 0 || row >= table->rows()) return table;
  std::vector<float> values(static_cast<std::size_t>(dim) * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5F;
  table->WriteRows(row, 1, values.data() + shard.first_column);
  if (kind == OptimizerKind::kAdam) {
    std::vector<float> state;
    for (int plane = 1; plane < 3; ++plane) {
      const float* from = values.data() + plane * dim + shard.first_column;
      state.insert(state.end(), from, from + table->dim());
    }
    table->WriteState(row, 1, state.data());
  } else {
    table->WriteState(row, 1, values.data() + dim + (table->state_width() == 1 ? 0 : shard.first_column));
  }
  return table;
}

// The definition, byte by byte.
std::uint64_t Expected(const EmbeddingTable& table) {
  const std::string name = table.name();
  const std::uint64_t name_hash = XXH3_64bits(name.data(), name.size());
  std::uint64_t sum = 0;
  std::vector<float> weights(static_cast<std::size_t>(table.dim()) + 4, 0.0F);
  for (std::uint64_t row = 0; row < static_cast<std::uint64_t>(table.rows()); ++row) {
    table.ReadRows(static_cast<std::int64_t>(row), 1, weights.data());
    for (std::uint64_t group = 0; 4 * group < static_cast<std::uint64_t>(table.dim()); ++group) {
      char bytes[40];
      std::memcpy(bytes, &name_hash, 8);
      std::memcpy(bytes + 8, &row, 8);
      std::memcpy(bytes + 16, &group, 8);
      std::memcpy(bytes + 24, weights.data() + 4 * group, 16);
      sum += XXH3_64bits(bytes, sizeof(bytes));
    }
  }
  return sum;
}

TEST(TableHash, IsTheSumOfItsGroups) {
  ThreadPool pool(2);
  for (const std::int64_t dim : {1, 3, 8, 30}) {
    const auto table = Make(dim, OptimizerKind::kAdagrad, StorageKind::kEager, pool);
    EXPECT_EQ(HashWeights(*table, pool), Expected(*table));
  }
}

TEST(TableHash, DoesNotDependOnThreadsOrStorage) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
    const auto eager = Make(10, kind, StorageKind::kEager, one);
    const auto lazy = Make(10, kind, StorageKind::kLazy, one);
    EXPECT_EQ(HashWeights(*eager, one), HashWeights(*lazy, three));
    EXPECT_EQ(HashState(*eager, one), HashState(*lazy, three));
  }
}

TEST(TableHash, ShardsAddUp) {
  ThreadPool pool(1);
  for (const OptimizerKind kind :
       {OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
    SCOPED_TRACE(ToString(kind));
    const auto whole = Make(10, kind, StorageKind::kEager, pool);
    const auto left = Make(10, kind, StorageKind::kEager, pool, {0, 0, 0, 4});
    const auto right = Make(10, kind, StorageKind::kLazy, pool, {0, 0, 4, 6});
    EXPECT_EQ(HashWeights(*whole, pool), HashWeights(*left, pool) + HashWeights(*right, pool));
    EXPECT_EQ(HashState(*whole, pool), HashState(*left, pool) + HashState(*right, pool));
    const auto top = Make(10, kind, StorageKind::kEager, pool, {0, 5, 0, 0});
    const auto bottom = Make(10, kind, StorageKind::kLazy, pool, {5, 0, 0, 0});
    EXPECT_EQ(HashWeights(*whole, pool), HashWeights(*top, pool) + HashWeights(*bottom, pool));
    EXPECT_EQ(HashState(*whole, pool), HashState(*top, pool) + HashState(*bottom, pool));
  }
}

TEST(TableHash, EveryValueCounts) {
  ThreadPool pool(1);
  const auto table = Make(7, OptimizerKind::kAdam, StorageKind::kEager, pool);
  const std::uint64_t weights = HashWeights(*table, pool);
  const std::uint64_t state = HashState(*table, pool);
  std::vector<float> row(7);
  table->ReadRows(200, 1, row.data());
  std::swap(row[2], row[6]);
  table->WriteRows(200, 1, row.data());
  EXPECT_NE(HashWeights(*table, pool), weights);
  EXPECT_EQ(HashState(*table, pool), state);
  std::vector<float> moments(14);
  moments[13] = 1.0F;
  table->WriteState(200, 1, moments.data());
  EXPECT_NE(HashState(*table, pool), state);
}

}  // namespace
}  // namespace hotrow
