#include "hotrow/embed/touched_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "hotrow/embed/mean_square.h"
#include "tests/embed/backward_cases.h"
#include "tests/embed/expected_tables.h"
#include "tests/optim/simd_targets.h"
#include "tests/support/allocation_counter.h"

namespace hotrow {
namespace {

using test::BackwardCase;
using test::ExpectSameBits;
using test::kSteps;
using test::MakeConfig;
using test::ReadTable;
using test::TableValues;

TEST(TouchedRows, SumThenApplyIsTheFusedBackward) {
  ThreadPool one(1);
  ThreadPool three(3);
  std::uint64_t seed = 900;
  for (const auto& [name, shapes] : test::BackwardShapes()) {
    for (const OptimizerKind kind :
         {OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
      for (const WeightDecayMode mode : {WeightDecayMode::kNone, WeightDecayMode::kL2}) {
        if (shapes[0].samples > 1000 && (kind != OptimizerKind::kAdagrad || mode != WeightDecayMode::kNone))
          continue;
        SCOPED_TRACE(name + ", " + ToString(kind) + ", " + ToString(mode));
        const BackwardCase backward(shapes, shapes[0].samples > 1000 ? 4 : 70, PoolingType::kSum, ++seed);
        const OptimizerConfig config = MakeConfig(kind, mode);
        const TableValues<float> expected = test::Expected<float>(backward, config, 8);
        test::ForEachSimdTarget([&] {
          for (ThreadPool* pool : {&one, &three}) {
            const auto table = backward.MakeTable(config, StorageKind::kLazy, *pool);
            TouchedRowSum sum;
            TouchedRows touched;
            BackwardScratch scratch;
            for (std::int64_t step = 1; step <= kSteps; ++step) {
              sum.Run(backward.On(*table), 8, *pool, touched);
              const std::set<std::int64_t> distinct(touched.rows.data(), touched.rows.data() + touched.count);
              ASSERT_EQ(static_cast<std::int64_t>(distinct.size()), touched.count);
              ApplyToRows(*table, step, touched, nullptr, scratch, *pool);
            }
            const TableValues<float> actual = ReadTable<float>(*table);
            ExpectSameBits(actual.weights, expected.weights);
            ExpectSameBits(actual.state, expected.state);
          }
        });
      }
    }
  }
}

// Two column shards of a table of `dim` columns, cut at `cut`, exchange their squares.
void ExpectShardsTrainLikeTheTable(std::int64_t dim, std::int64_t cut, WeightDecayMode mode,
                                   ThreadPool& pool) {
  const OptimizerConfig config = MakeConfig(OptimizerKind::kRowWiseAdagrad, mode);
  const BackwardCase backward(test::BackwardShapes()[0].second, dim, PoolingType::kSum, 5);
  const TableValues<float> expected = test::Expected<float>(backward, config, 8);

  std::vector<std::unique_ptr<EmbeddingTable>> shards;
  for (const TableShard shard : {TableShard{0, 0, 0, cut}, TableShard{0, 0, cut, 0}}) {
    EmbeddingTableConfig table = backward.config();
    table.optimizer = config;
    shards.push_back(std::make_unique<EmbeddingTable>(table, shard, StorageKind::kEager, 1, 17, pool));
  }
  BackwardScratch scratch;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    std::vector<TouchedRows> touched(2);
    std::vector<std::vector<float>> groups(2);
    for (std::size_t k = 0; k < 2; ++k) {
      BagGradients input = backward.On(*shards[k]);
      for (FeatureGradient& feature : input.features) feature.gradient += shards[k]->shard().first_column;
      TouchedRowSum().Run(input, 8, pool, touched[k]);
      groups[k].resize(static_cast<std::size_t>(touched[k].count * SquareGroups(shards[k]->dim())));
      SquareGroupsOfRows(*shards[k], touched[k], groups[k].data(), scratch, pool);
    }
    std::vector<float> mean_squares;
    for (std::int64_t i = 0; i < touched[0].count; ++i) {
      ASSERT_EQ(touched[0].rows[i], touched[1].rows[i]);
      std::vector<float> row;
      for (std::size_t k = 0; k < 2; ++k) {
        const float* of_row = groups[k].data() + i * SquareGroups(shards[k]->dim());
        row.insert(row.end(), of_row, of_row + SquareGroups(shards[k]->dim()));
      }
      mean_squares.push_back(MeanSquare(row.data(), dim));
    }
    for (std::size_t k = 0; k < 2; ++k) {
      ApplyToRows(*shards[k], step, touched[k], mean_squares.data(), scratch, pool);
    }
  }
  const TableValues<float> left = ReadTable<float>(*shards[0]);
  const TableValues<float> right = ReadTable<float>(*shards[1]);
  ExpectSameBits(left.state, expected.state);
  ExpectSameBits(right.state, expected.state);
  for (std::size_t i = 0; i < expected.weights.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(dim);
    const std::size_t c = i % static_cast<std::size_t>(dim);
    const auto first = static_cast<std::size_t>(cut);
    const auto rest = static_cast<std::size_t>(dim - cut);
    const float actual = c < first ? left.weights[row * first + c] : right.weights[row * rest + c - first];
    ASSERT_EQ(actual, expected.weights[i]) << row << "," << c;
  }
}

// After a first step, and with the sums' own memory as large as it gets.
TEST(TouchedRows, ASecondStepAllocatesNothing) {
  ThreadPool pool(2);
  const OptimizerConfig config = MakeConfig(OptimizerKind::kRowWiseAdagrad, WeightDecayMode::kL2);
  const BackwardCase backward(test::BackwardShapes()[0].second, 70, PoolingType::kSum, 6);
  const auto table = backward.MakeTable(config, StorageKind::kEager, pool);
  TouchedRowSum sum;
  TouchedRows touched;
  BackwardScratch scratch;
  const BagGradients input = backward.On(*table);
  Buffer<float> groups(table->rows() * SquareGroups(table->dim()));
  const auto run = [&](std::int64_t step) {
    sum.Run(input, 8, pool, touched);
    SquareGroupsOfRows(*table, touched, groups.data(), scratch, pool);
    ApplyToRows(*table, step, touched, nullptr, scratch, pool);
  };
  run(1);
  const std::int64_t before = LargeAllocations();
  const std::int64_t mapped = Mappings();
  for (std::int64_t step = 2; step <= kSteps; ++step) run(step);
  EXPECT_EQ(LargeAllocations(), before);
  EXPECT_EQ(Mappings(), mapped);
}

TEST(TouchedRows, ColumnShardsAgreeOnRowWiseAdagrad) {
  ThreadPool pool(2);
  for (const auto& [dim, cut] : {std::pair(7, 4), {64, 32}, {90, 36}, {128, 64}, {200, 132}}) {
    for (const WeightDecayMode mode :
         {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecoupled}) {
      SCOPED_TRACE(std::to_string(dim) + " cut at " + std::to_string(cut) + ", " + ToString(mode));
      test::ForEachSimdTarget([&] { ExpectShardsTrainLikeTheTable(dim, cut, mode, pool); });
    }
  }
}

// Ranks with shards of one table pair their rows by place, and may have other numbers of threads.
TEST(TouchedRows, StandInOneOrderForAnyNumberOfThreads) {
  ThreadPool one(1);
  EmbeddingTable table({"t", 100'000, 4, PoolingType::kSum, {}}, {}, StorageKind::kEager, 0, 1, one);
  for (const std::int64_t samples : {100, 9'000, 90'000}) {
    const test::RandomBags bags({.samples = samples, .rows = 100'000, .largest = 4}, 3);
    const std::vector<float> gradient(static_cast<std::size_t>(samples * 4), 1.0F);
    BagGradients input;
    input.table = &table;
    input.features.push_back({bags.bags, gradient.data(), 4});
    TouchedRows expected;
    TouchedRowSum().Run(input, 8, one, expected);
    for (const int threads : {2, 3, 5, 8, 13}) {
      ThreadPool pool(threads);
      TouchedRows touched;
      TouchedRowSum().Run(input, 8, pool, touched);
      ASSERT_EQ(touched.count, expected.count);
      EXPECT_TRUE(std::equal(touched.rows.data(), touched.rows.data() + touched.count, expected.rows.data()))
          << samples << " samples, " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace hotrow
