#include "hotrow/base/tree_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hotrow {
namespace {

// Sums are written out as text, "((0+1)+(2+3))", so that a test sees the order and not only the value.
// The definition: the subtree of [first, first + size), absent units left out.
std::string Tree(const std::vector<bool>& present, std::uint64_t first, std::uint64_t size) {
  if (size == 1) return first < present.size() && present[first] ? std::to_string(first) : "";
  const std::string left = Tree(present, first, size / 2);
  const std::string right = Tree(present, first + size / 2, size / 2);
  if (left.empty()) return right;
  if (right.empty()) return left;
  return "(" + left + "+" + right + ")";
}

struct StackSum {
  std::string text;
  int slots = 0;  // the most that were in use
};

StackSum SumByStack(const std::vector<std::uint64_t>& units) {
  TreeStack stack;
  std::vector<std::string> slots(65);
  StackSum out;
  const auto merge = [&](int into, int from) {
    auto& left = slots[static_cast<std::size_t>(into)];
    auto& right = slots[static_cast<std::size_t>(from)];
    left = "(" + left + "+" + right + ")";
    right.clear();
  };
  for (std::uint64_t unit : units) {
    const int slot = stack.Push(unit, merge);
    slots[static_cast<std::size_t>(slot)] = std::to_string(unit);
    out.slots = std::max(out.slots, slot + 1);
  }
  if (stack.Finish(merge)) out.text = slots[0];
  return out;
}

std::vector<std::uint64_t> UnitsOf(const std::vector<bool>& present) {
  std::vector<std::uint64_t> units;
  for (std::uint64_t u = 0; u < present.size(); ++u) {
    if (present[u]) units.push_back(u);
  }
  return units;
}

TEST(TreeLevel, IsTheHighestLevelThatTheNextUnitLeaves) {
  EXPECT_EQ(TreeLevel(0, 1), 0);
  EXPECT_EQ(TreeLevel(1, 2), 1);
  EXPECT_EQ(TreeLevel(2, 3), 0);
  EXPECT_EQ(TreeLevel(3, 4), 2);
  EXPECT_EQ(TreeLevel(0, 7), 2);
}

TEST(TreeStack, EverySubsetOfEightUnitsIsTheRecursiveTree) {
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::vector<bool> present(8);
    for (unsigned u = 0; u < 8; ++u) present[u] = (mask >> u & 1U) != 0;
    EXPECT_EQ(SumByStack(UnitsOf(present)).text, Tree(present, 0, 8));
  }
}

TEST(TreeStack, RandomSubsetsOfManyUnits) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 500; ++trial) {
    const std::uint64_t units =
        1 + random() % 300;  // not only powers of two: the tree is cut off at the right
    const std::uint64_t density = 1 + random() % 100;
    std::vector<bool> present(units);
    for (std::uint64_t u = 0; u < units; ++u) present[u] = random() % 100 < density;
    const StackSum sum = SumByStack(UnitsOf(present));
    EXPECT_EQ(sum.text, Tree(present, 0, std::bit_ceil(units)));
    EXPECT_LE(sum.slots, std::bit_width(units - 1) + 1);
  }
}

TEST(TreeStack, UnitNumbersBeyond32Bits) {
  const std::uint64_t far = std::uint64_t{1} << 40;
  EXPECT_EQ(SumByStack({0, 1, far, far + 3, far + (1U << 20)}).text,
            "((0+1)+((1099511627776+1099511627779)+1099512676352))");
}

TEST(TreeStack, NothingPushedSaysSo) {
  TreeStack stack;
  const auto merge = [](int, int) { FAIL() << "nothing to merge"; };
  EXPECT_FALSE(stack.Finish(merge));
  EXPECT_EQ(stack.Push(5, merge), 0);
  EXPECT_TRUE(stack.Finish(merge));
  EXPECT_FALSE(stack.Finish(merge)) << "Finish leaves it empty, ready for the next sum";
}

// Ranks that own contiguous, aligned blocks of units sum their own first; the tree of their sums is the whole
// tree.
TEST(TreeStack, BlocksOfUnitsAreSubtrees) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<bool> present(16);
    for (std::size_t u = 0; u < 16; ++u) present[u] = random() % 3 != 0;
    for (std::uint64_t ranks : {1U, 2U, 4U, 8U, 16U}) {
      const std::uint64_t block = 16 / ranks;
      std::string top[16];
      TreeStack stack;
      const auto merge = [&](int into, int from) { top[into] = "(" + top[into] + "+" + top[from] + ")"; };
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        std::vector<std::uint64_t> own;
        for (std::uint64_t u = rank * block; u < (rank + 1) * block; ++u) {
          if (present[u]) own.push_back(u);
        }
        const std::string sum = SumByStack(own).text;
        if (!sum.empty()) top[stack.Push(rank, merge)] = sum;
      }
      EXPECT_EQ(stack.Finish(merge) ? top[0] : "", Tree(present, 0, 16)) << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace hotrow
