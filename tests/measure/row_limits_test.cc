#include "hotrow/measure/row_limits.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace hotrow {
namespace {

EmbeddingTable MakeTable(std::int64_t rows, std::int64_t dim, StorageKind storage, ThreadPool& pool,
                         OptimizerKind optimizer = OptimizerKind::kAdagrad) {
  return {{"t", rows, dim, PoolingType::kSum, {"f"}, {.kind = optimizer}}, {}, storage, 0, 9, pool};
}

TEST(RowLimits, CountRowsAndTheirWeights) {
  ThreadPool pool(2);
  const EmbeddingTable wide = MakeTable(900, 24, StorageKind::kEager, pool);
  const EmbeddingTable narrow = MakeTable(900, 4, StorageKind::kEager, pool);
  const EmbeddingTable* const one[] = {&narrow};
  const RowLimits parts = MeasureRowLimits(one, pool);
  EXPECT_GT(parts.gather.rows_per_s, 0);
  EXPECT_GT(parts.update.rows_per_s, 0);
  EXPECT_DOUBLE_EQ(parts.gather.weights_per_s, 4 * parts.gather.rows_per_s);
  EXPECT_DOUBLE_EQ(parts.update.weights_per_s, 4 * parts.update.rows_per_s);
  const EmbeddingTable* const both[] = {&narrow, &wide};
  const RowLimits mixed = MeasureRowLimits(both, pool);
  EXPECT_NEAR(mixed.gather.weights_per_s / mixed.gather.rows_per_s, 14, 0.1) << "as many rows of each";
  EXPECT_NEAR(mixed.update.weights_per_s / mixed.update.rows_per_s, 14, 0.1);
}

// Under ThreadSanitizer this also sees that no two threads write one row.
TEST(RowLimits, LeaveWeightsAndStateAsTheyWere) {
  ThreadPool pool(3);
  const EmbeddingTable eager = MakeTable(5000, 20, StorageKind::kEager, pool);
  EmbeddingTable lazy = MakeTable(300, 20, StorageKind::kLazy, pool);
  lazy.MakeResident(std::vector<std::int64_t>{2, 5, 299});
  EmbeddingTable row_wise = MakeTable(4000, 20, StorageKind::kEager, pool, OptimizerKind::kRowWiseAdagrad);
  std::vector<float> states(4000);
  std::iota(states.begin(), states.end(), 1.0F);
  row_wise.WriteState(0, 4000, states.data());
  const EmbeddingTable* const tables[] = {&eager, &lazy, &row_wise};
  const auto everything = [&] {
    std::vector<float> all;
    for (const EmbeddingTable* table : tables) {
      std::vector<float> part(static_cast<std::size_t>(table->rows() * 20));
      table->ReadRows(0, table->rows(), part.data());
      all.insert(all.end(), part.begin(), part.end());
      table->ReadState(0, table->rows(), part.data());
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  const std::vector<float> before = everything();
  const std::int64_t resident = lazy.ResidentBytes();
  MeasureRowLimits(tables, pool);
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(lazy.ResidentBytes(), resident);
}

TEST(RowLimits, AreNothingWhereNothingIsResident) {
  ThreadPool pool(1);
  EXPECT_EQ(MeasureRowLimits({}, pool).gather.weights_per_s, 0);
  const EmbeddingTable lazy = MakeTable(50, 4, StorageKind::kLazy, pool);
  const EmbeddingTable* const tables[] = {&lazy};
  EXPECT_EQ(MeasureRowLimits(tables, pool).gather.rows_per_s, 0);
  EXPECT_EQ(MeasureRowLimits(tables, pool).update.rows_per_s, 0);
}

}  // namespace
}  // namespace hotrow
