#include "hotrow/embed/gather_limit.h"

#include <gtest/gtest.h>

namespace hotrow {
namespace {

EmbeddingTable MakeTable(std::int64_t rows, std::int64_t dim, StorageKind storage, ThreadPool& pool) {
  return {{"t", rows, dim, PoolingType::kSum, {"f"}}, {}, OptimizerKind::kSgd, storage, 0, 9, pool};
}

TEST(GatherLimit, CountsRowsAndWhatTheyHold) {
  ThreadPool pool(2);
  const EmbeddingTable wide = MakeTable(900, 24, StorageKind::kEager, pool);
  const EmbeddingTable narrow = MakeTable(900, 4, StorageKind::kEager, pool);
  const EmbeddingTable* const one[] = {&narrow};
  const GatherRate parts = MeasureGatherLimit(one, pool);
  EXPECT_GT(parts.rows_per_s, 0);
  EXPECT_DOUBLE_EQ(parts.floats_per_s, 4 * parts.rows_per_s);
  const EmbeddingTable* const both[] = {&narrow, &wide};
  const GatherRate mixed = MeasureGatherLimit(both, pool);
  EXPECT_NEAR(mixed.floats_per_s / mixed.rows_per_s, 14, 0.1) << "as many rows of each";
}

TEST(GatherLimit, IsNothingWhereNothingIsResident) {
  ThreadPool pool(1);
  EXPECT_EQ(MeasureGatherLimit({}, pool).floats_per_s, 0);
  const EmbeddingTable lazy = MakeTable(50, 4, StorageKind::kLazy, pool);
  const EmbeddingTable* const tables[] = {&lazy};
  EXPECT_EQ(MeasureGatherLimit(tables, pool).rows_per_s, 0);
}

}  // namespace
}  // namespace hotrow
