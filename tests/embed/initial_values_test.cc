#include "hotrow/embed/initial_values.h"

#include <gtest/gtest.h>

#include <vector>

#include "hotrow/base/rng.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

EmbeddingTableConfig Uniform(float bound) {
  return {.num_embeddings = 1, .init = {InitKind::kUniform, bound}};
}

float Expected(std::uint64_t seed, std::int64_t table, float bound, std::int64_t row, std::int64_t column) {
  const auto words =
      RandomWords(MixSeed(seed, static_cast<std::uint64_t>(table)), RandomStream::kEmbeddingInit,
                  static_cast<std::uint64_t>(row), static_cast<std::uint32_t>(column / 4));
  const float u = UnitFloat(words[static_cast<std::size_t>(column % 4)]);
  return (2.0F * u - 1.0F) * bound;
}

TEST(InitialValues, AreTheGeneratorsWordsOnEveryTarget) {
  constexpr std::int64_t kFirstRow = (std::int64_t{5} << 32) - 2;  // rows need more than 32 bits
  test::ForEachSimdTarget([&] {
    for (const std::int64_t columns : {1, 3, 4, 16, 100, 128, 300}) {
      for (const std::int64_t rows : {1, 2, 7, 70}) {
        const std::int64_t stride = columns + 3;
        std::vector<float> out(static_cast<std::size_t>(rows * stride), 7.0F);
        InitialValues(11, 3, Uniform(0.25F)).Fill(kFirstRow, rows, 8, columns, out.data(), stride);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < stride; ++c) {
            const float expected = c < columns ? Expected(11, 3, 0.25F, kFirstRow + r, 8 + c) : 7.0F;
            ASSERT_EQ(out[static_cast<std::size_t>(r * stride + c)], expected)
                << r << "," << c << " of " << columns;
          }
        }
      }
    }
  });
}

TEST(InitialValues, FillTheWholeRangeAndDifferByTable) {
  std::vector<float> a(40000);
  std::vector<float> b(40000);
  InitialValues(1, 0, Uniform(0.5F)).Fill(0, 400, 0, 100, a.data(), 100);
  InitialValues(1, 1, Uniform(0.5F)).Fill(0, 400, 0, 100, b.data(), 100);
  double sum = 0.0;
  double squares = 0.0;
  int equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::abs(a[i]), 0.5F);
    sum += static_cast<double>(a[i]);
    squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    equal += a[i] == b[i];
  }
  EXPECT_NEAR(sum / 40000.0, 0.0, 0.006);
  EXPECT_NEAR(squares / 40000.0, 1.0 / 12.0, 0.002);
  EXPECT_LT(equal, 10);
}

TEST(InitialValues, TheDefaultIsTheReferencesBound) {
  EmbeddingTableConfig table{.num_embeddings = 400};
  std::vector<float> by_default(40);
  std::vector<float> uniform(40);
  InitialValues(5, 2, table).Fill(3, 1, 0, 40, by_default.data(), 40);
  InitialValues(5, 2, Uniform(0.05F)).Fill(3, 1, 0, 40, uniform.data(), 40);
  EXPECT_EQ(by_default, uniform);
}

TEST(InitialValues, AreNormalOrZerosWhereATableSaysSo) {
  EmbeddingTableConfig table{.num_embeddings = 1, .init = {InitKind::kNormal, 0.5F}};
  const InitialValues normal(1, 0, table);
  std::vector<float> values(40'000);
  normal.Fill(0, 400, 0, 100, values.data(), 100);
  double sum = 0.0;
  double squares = 0.0;
  int beyond_two = 0;
  for (const float value : values) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
    beyond_two += std::abs(value) > 1.0F;
  }
  EXPECT_NEAR(sum / 40'000, 0.0, 0.01);
  EXPECT_NEAR(squares / 40'000, 0.25, 0.01);
  EXPECT_NEAR(beyond_two / 40'000.0, 0.0455, 0.005);  // 2 standard deviations
  // A shard's values are the whole table's, at widths that end inside a block of four.
  std::vector<float> part(7 * 9, 7.0F);
  normal.Fill(12, 7, 8, 6, part.data(), 9);
  for (std::size_t r = 0; r < 7; ++r) {
    for (std::size_t c = 0; c < 9; ++c)
      ASSERT_EQ(part[r * 9 + c], c < 6 ? values[(12 + r) * 100 + 8 + c] : 7.0F);
  }
  table.init = {InitKind::kZeros};
  InitialValues(1, 0, table).Fill(0, 7, 0, 6, part.data(), 9);
  for (std::size_t r = 0; r < 7; ++r) {
    for (std::size_t c = 0; c < 6; ++c) ASSERT_EQ(part[r * 9 + c], 0.0F);
  }
}

}  // namespace
}  // namespace hotrow
