#include "hotrow/dense/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/dense/naive.h"

namespace hotrow {
namespace {

using test::Floats;
using test::RandomFloats;
using test::Z;

TEST(ParametersTest, LaysParametersOutOnCacheLines) {
  Parameters parameters;
  parameters.Add("a", 13, 5, true, false, 32);
  parameters.Add("b", 1, 5, false, true);
  parameters.Add("c", 0, 3, true, false, 32);
  parameters.Allocate();
  EXPECT_EQ(parameters.list()[0].padded_rows, 32);
  EXPECT_EQ(parameters.list()[1].offset, 160);
  EXPECT_EQ(parameters.list()[2].offset, 176);
  EXPECT_EQ(parameters.list()[2].padded_rows, 32);
  EXPECT_EQ(parameters.padded_size(), 176 + 96);
}

TEST(ParametersTest, ExportTurnsAndImportTurnsBack) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{13, 5}, {100, 33}, {1, 7}, {16, 16}}) {
    Parameters parameters;
    const std::int64_t index = parameters.Add("w", rows, columns, true, false, 8);
    parameters.Allocate();
    const Floats torch = RandomFloats(rows * columns, 1);  // [columns, rows]
    parameters.Import(index, torch, parameters.weights());
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        ASSERT_EQ(parameters.weights(index)[i * columns + j], torch[Z(j * rows + i)]);
      }
    }
    Floats back(torch.size());
    parameters.Export(index, parameters.weights(), back);
    EXPECT_EQ(back, torch);
  }
}

TEST(ParametersTest, HashSeesNamesValuesAndTheirOrderButNotPadding) {
  const auto hash = [](const char* name, bool swap, float padding) {
    Parameters parameters;
    const std::int64_t index = parameters.Add(name, 3, 20, true, false, 4);
    parameters.Allocate();
    Floats torch = RandomFloats(60, 2);
    if (swap) std::swap(torch[0], torch[59]);
    parameters.Import(index, torch, parameters.weights());
    parameters.weights()[parameters.padded_size() - 1] = padding;
    return parameters.Hash(parameters.weights());
  };
  EXPECT_EQ(hash("w", false, 0.0F), hash("w", false, 1.0F));
  EXPECT_NE(hash("w", false, 0.0F), hash("v", false, 0.0F));
  EXPECT_NE(hash("w", false, 0.0F), hash("w", true, 0.0F));
}

// How a matrix is stored is not part of what it is.
TEST(ParametersTest, HashIsOfTheExportedOrder) {
  const Floats torch = RandomFloats(35, 3);
  std::uint64_t hashes[2];
  for (const bool transposed : {false, true}) {
    Parameters parameters;
    const std::int64_t index =
        transposed ? parameters.Add("w", 7, 5, true, false) : parameters.Add("w", 5, 7, false, false);
    parameters.Allocate();
    parameters.Import(index, torch, parameters.weights());
    hashes[transposed ? 1 : 0] = parameters.Hash(parameters.weights());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(ParametersTest, ZeroPaddingLeavesParametersAlone) {
  Parameters parameters;
  parameters.Add("a", 3, 5, true, false, 4);
  parameters.Add("b", 1, 5, false, true);
  parameters.Allocate();
  std::fill_n(parameters.weights(), parameters.padded_size(), 1.0F);
  parameters.ZeroPadding(parameters.weights());
  EXPECT_EQ(std::count(parameters.weights(), parameters.weights() + parameters.padded_size(), 1.0F), 20);
  EXPECT_EQ(parameters.weights(0)[14], 1.0F);
  EXPECT_EQ(parameters.weights(0)[15], 0.0F);
  EXPECT_EQ(parameters.weights(1)[4], 1.0F);
}

}  // namespace
}  // namespace hotrow
