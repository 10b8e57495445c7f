#include "hotrow/embed/initial_values.h"

#include <gtest/gtest.h>

#include <vector>

#include "hotrow/base/rng.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

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
        InitialValues(11, 3, 0.25F).Fill(kFirstRow, rows, 8, columns, out.data(), stride);
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
  InitialValues(1, 0, 0.5F).Fill(0, 400, 0, 100, a.data(), 100);
  InitialValues(1, 1, 0.5F).Fill(0, 400, 0, 100, b.data(), 100);
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

}  // namespace
}  // namespace hotrow
