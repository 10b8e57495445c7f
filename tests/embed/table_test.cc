#include "hotrow/embed/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/embed/table_hash.h"
#include "hotrow/machine/system.h"
#include "tests/machine/address_limit.h"
#include "tests/support/resident_bytes.h"

namespace hotrow {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

EmbeddingTableConfig Config(std::int64_t rows, std::int64_t dim,
                            OptimizerKind optimizer = OptimizerKind::kAdagrad) {
  return {"t", rows, dim, PoolingType::kSum, {"f"}, {.kind = optimizer}};
}

std::vector<float> AllRows(const EmbeddingTable& table) {
  std::vector<float> out(static_cast<std::size_t>(table.rows() * table.dim()));
  table.ReadRows(0, table.rows(), out.data());
  return out;
}

TEST(EmbeddingTable, EagerAndLazyStartAlikeForAnyThreads) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const std::int64_t dim : {1, 3, 16, 100, 128}) {
    const EmbeddingTable eager(Config(5000, dim, OptimizerKind::kAdagrad), {}, StorageKind::kEager, 2, 9,
                               one);
    const EmbeddingTable threaded(Config(5000, dim, OptimizerKind::kSgd), {}, StorageKind::kEager, 2, 9,
                                  three);
    const EmbeddingTable lazy(Config(5000, dim, OptimizerKind::kAdagrad), {}, StorageKind::kLazy, 2, 9, one);
    EXPECT_EQ(AllRows(eager), AllRows(threaded));
    EXPECT_EQ(AllRows(eager), AllRows(lazy));
  }
}

TEST(EmbeddingTable, ShardsHoldTheWholeTablesValues) {
  ThreadPool pool(2);
  const EmbeddingTable whole(Config(40, 20, OptimizerKind::kSgd), {}, StorageKind::kEager, 1, 3, pool);
  const EmbeddingTable part(Config(40, 20, OptimizerKind::kSgd), {10, 25, 8, 12}, StorageKind::kLazy, 1, 3,
                            pool);
  const std::vector<float> all = AllRows(whole);
  const std::vector<float> some = AllRows(part);
  for (std::size_t r = 0; r < 25; ++r) {
    for (std::size_t c = 0; c < 12; ++c) ASSERT_EQ(some[r * 12 + c], all[(10 + r) * 20 + 8 + c]);
  }
}

TEST(EmbeddingTable, WritesMakeRowsResidentWithZeroState) {
  ThreadPool pool(1);
  for (const StorageKind kind : {StorageKind::kEager, StorageKind::kLazy}) {
    EmbeddingTable table(Config(100, 5, OptimizerKind::kAdam), {}, kind, 0, 0, pool);
    EXPECT_EQ(table.state_width(), 10);
    EXPECT_EQ(table.LogicalBytes(), 100 * 15 * 4);
    const std::int64_t before = table.ResidentBytes();
    const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    table.WriteRows(98, 2, values.data());
    std::vector<float> read(15);
    table.ReadRows(97, 3, read.data());
    EXPECT_THAT(std::vector<float>(read.begin() + 5, read.end()), testing::ElementsAreArray(values));
    std::vector<float> state(10, 1.0F);
    table.ReadState(99, 1, state.data());
    EXPECT_THAT(state, testing::Each(0.0F));
    table.WriteState(3, 1, values.data());
    table.ReadState(3, 1, state.data());
    EXPECT_THAT(state, testing::ElementsAreArray(values));
    std::vector<float> initial(5);
    table.ReadRows(3, 1, read.data());
    table.InitialRow(3, initial.data());
    EXPECT_THAT(std::vector<float>(read.begin(), read.begin() + 5), testing::ElementsAreArray(initial));
    EXPECT_EQ(table.ResidentBytes() - before, kind == StorageKind::kEager ? 0 : 3 * 15 * 4);
  }
}

TEST(EmbeddingTable, LazyTablesOfManyElementsCostWhatWasTrained) {
  ThreadPool pool(1);
  constexpr std::int64_t kRows = 40'000'000;  // 5.1e9 elements, 41 GB with state
  const std::int64_t before = ResidentBytes();
  EmbeddingTable table(Config(kRows, 128, OptimizerKind::kAdagrad), {}, StorageKind::kLazy, 0, 0, pool);
  const std::vector<float> values(128, 2.5F);
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{20'000'000}, kRows - 1}) {
    table.WriteRows(row, 1, values.data());
  }
  std::vector<float> read(3 * 128);
  table.ReadRows(kRows - 3, 3, read.data());
  EXPECT_EQ(read[2 * 128 + 127], 2.5F);
  std::vector<float> initial(128);
  table.InitialRow(kRows - 2, initial.data());
  EXPECT_EQ(read[128 + 5], initial[5]);
  EXPECT_LT(ResidentBytes() - before, std::int64_t{64} << 20);
}

// More rows than one growth makes room for, and more state than the rows' last huge page covers.
TEST(EmbeddingTable, LazyRowWiseStateGrowsWithTheRows) {
  ThreadPool pool(1);
  constexpr std::int64_t kRows = 100'000, kTrained = 60'000;
  EmbeddingTable table(Config(kRows, 128, OptimizerKind::kRowWiseAdagrad), {}, StorageKind::kLazy, 0, 0,
                       pool);
  const auto row_of = [](std::int64_t i) { return (i * 7919) % kRows; };
  for (std::int64_t i = 0; i < kTrained; ++i) {
    const auto value = static_cast<float>(i + 1);
    table.WriteState(row_of(i), 1, &value);
  }
  std::vector<float> row(128), initial(128);
  for (std::int64_t i = 0; i < kTrained; ++i) {
    float state = 0;
    table.ReadState(row_of(i), 1, &state);
    ASSERT_EQ(state, static_cast<float>(i + 1)) << i;
    table.ReadRows(row_of(i), 1, row.data());
    table.InitialRow(row_of(i), initial.data());
    ASSERT_EQ(row, initial) << i;
  }
}

// Else a check of what memory is left would count it as free.
TEST(EmbeddingTable, EagerStateIsResidentFromTheStart) {
  ThreadPool pool(2);
  constexpr std::int64_t kRows = 4'000'000;
  const std::int64_t before = ResidentBytes();
  const EmbeddingTable table(Config(kRows, 4, OptimizerKind::kRowWiseAdagrad), {}, StorageKind::kEager, 0, 0,
                             pool);
  EXPECT_GE(ResidentBytes() - before, table.LogicalBytes());
}

// Of rows that were never trained too, whose state is not stored in a lazy table.
TEST(EmbeddingTable, StateStartsFromTheInitialAccumulator) {
  ThreadPool pool(2);
  for (const OptimizerKind kind : {OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad}) {
    EmbeddingTableConfig config = Config(3000, 5, kind);
    config.optimizer.initial_accumulator = 0.5F;
    std::vector<std::uint64_t> hashes;
    for (const StorageKind storage : {StorageKind::kEager, StorageKind::kLazy}) {
      EmbeddingTable table(config, {}, storage, 0, 0, pool);
      const std::vector<std::int64_t> rows = {7, 2999};
      table.MakeResident(rows);
      std::vector<float> state(static_cast<std::size_t>(3000 * table.state_width()));
      table.ReadState(0, 3000, state.data());
      EXPECT_THAT(state, testing::Each(0.5F));
      hashes.push_back(HashState(table, pool));
    }
    EXPECT_EQ(hashes[0], hashes[1]);
  }
}

TEST(EmbeddingTable, RefusesAnEagerTableLargerThanMemory) {
  ThreadPool pool(1);
  EXPECT_THAT(
      [&] {
        EmbeddingTable(Config(4'000'000'000, 128, OptimizerKind::kAdagrad), {}, StorageKind::kEager, 0, 0,
                       pool);
      },
      ThrowsMessage<Error>(
          testing::AllOf(HasSubstr("table 't' needs 3814.70 GiB"), HasSubstr("GiB are available"))));
}

TEST(EmbeddingTable, LazyGrowthStopsBeforeMemoryRunsOut) {
  // 4 MiB a row; claimed rows are not touched here.
  const RowLayout layout = MakeRowLayout(std::int64_t{1} << 20, OptimizerKind::kSgd);
  const std::int64_t available_rows = AvailableMemory() / layout.bytes();
  TableStorage storage("t", StorageKind::kLazy, 2 * available_rows + 100, layout);
  EXPECT_EQ(storage.Claim(2), 0U);
  EXPECT_EQ(storage.Claim(3), 2U);
  EXPECT_EQ(storage.resident_rows(), 5);
  EXPECT_THAT([&] { storage.Claim(available_rows + 50); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("out of memory: table 't'"),
                                                  HasSubstr("GiB more"), HasSubstr("GiB are kept free"))));
  EXPECT_EQ(storage.resident_rows(), 5) << "what could not be had was not taken";
  EXPECT_EQ(storage.Claim(1), 5U);
}

// A lazy table's addresses are its own from the start: a limit of them is not asked again.
TEST(EmbeddingTable, LazyGrowthNeedsNoMoreAddressSpace) {
  const RowLayout layout = MakeRowLayout(std::int64_t{1} << 20, OptimizerKind::kSgd);
  TableStorage storage("t", StorageKind::kLazy, 100, layout);
  const AddressLimit limit(std::int64_t{16} << 20);
  if (!limit.set()) GTEST_SKIP() << "the limit is lower already";
  EXPECT_EQ(storage.Claim(100), 0U);
}

TEST(RowLayout, PadsOnlyWhereItIsCheap) {
  const auto stride = [](std::int64_t dim, OptimizerKind optimizer) {
    return MakeRowLayout(dim, optimizer).stride;
  };
  EXPECT_EQ(stride(128, OptimizerKind::kAdagrad), 256);
  EXPECT_EQ(stride(127, OptimizerKind::kSgd), 128);
  EXPECT_EQ(stride(129, OptimizerKind::kSgd), 132);  // a whole line would waste 15 of 129
  EXPECT_EQ(stride(3, OptimizerKind::kAdagrad), 6);
  EXPECT_EQ(stride(100, OptimizerKind::kSgd), 100);
  EXPECT_EQ(stride(128, OptimizerKind::kAdam), 384);
}

TEST(RowLayout, OneNumberARowLiesApart) {
  const RowLayout layout = MakeRowLayout(128, OptimizerKind::kRowWiseAdagrad);
  EXPECT_EQ(layout.stride, 128);
  EXPECT_EQ(layout.together, 128);
  EXPECT_EQ(layout.apart, 1);
  EXPECT_EQ(layout.bytes(), 516);
  EXPECT_EQ(MakeRowLayout(128, OptimizerKind::kAdagrad).apart, 0);
}

TEST(EmbeddingTable, StorageNames) {
  EXPECT_EQ(ParseTableStorage("eager", std::int64_t{1} << 60), StorageKind::kEager);
  EXPECT_EQ(ParseTableStorage("lazy", 1), StorageKind::kLazy);
  EXPECT_EQ(ParseTableStorage("auto", 1), StorageKind::kEager);
  EXPECT_EQ(ParseTableStorage("auto", std::int64_t{1} << 60), StorageKind::kLazy);
  EXPECT_THAT([] { ParseTableStorage("mmap", 1); },
              ThrowsMessage<Error>(HasSubstr("'mmap', must be one of: auto, eager, lazy")));
}

TEST(EmbeddingTableConfig, Validation) {
  EXPECT_NO_THROW(Validate(std::vector{Config(1, 1)}));
  EXPECT_THAT(
      [] {
        Validate(std::vector{Config(1, 1), Config(2, 1)});
      },
      ThrowsMessage<Error>(HasSubstr("'t' is taken")));
  EXPECT_THAT([] { Validate(std::vector{Config(0, 1)}); },
              ThrowsMessage<Error>(HasSubstr("num_embeddings is 0")));
  EXPECT_THAT([] { Validate(std::vector{Config(1, -4)}); },
              ThrowsMessage<Error>(HasSubstr("embedding_dim is -4")));
  EmbeddingTableConfig no_accumulator = Config(1, 1, OptimizerKind::kSgd);
  no_accumulator.optimizer.initial_accumulator = 0.1F;
  EXPECT_THAT([&] { Validate(std::vector{no_accumulator}); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("table 't'"), HasSubstr("initial_accumulator"))));
  for (const char* init : {"default", "zeros", "uniform(0.25)", "normal(0.01)"})
    EXPECT_EQ(ToString(ParseTableInit(init)), init);
  for (const char* init :
       {"", "normal", "uniform()", "uniform(0)", "normal(-1)", "uniform(1", "normal(nan)", "zeros(1)"})
    EXPECT_THAT([&] { ParseTableInit(init); },
                ThrowsMessage<Error>(HasSubstr("must be one of: default, uniform(A)")));
  EXPECT_THAT([] { ParsePoolingType("max"); },
              ThrowsMessage<Error>(HasSubstr("'max', must be one of: sum, mean")));
}

}  // namespace
}  // namespace hotrow
