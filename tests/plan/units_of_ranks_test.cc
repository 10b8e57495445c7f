#include "hotrow/plan/units_of_ranks.h"

#include <gtest/gtest.h>

#include <utility>

namespace hotrow {
namespace {

// A rank's samples, cut among its own units, are its units of the whole batch: larger units first either way.
TEST(SamplesOfRank, AreItsUnitsOfTheBatch) {
  for (std::int64_t samples = 0; samples <= 100; ++samples) {
    for (const auto& [units, ranks] : {std::pair{8, 1}, {8, 2}, {8, 4}, {8, 8}, {12, 3}, {32, 8}}) {
      const std::int64_t each = units / ranks;
      for (std::int64_t unit = 0; unit < units; ++unit) {
        const Slice rank = SamplesOfRank(samples, units, ranks, unit / each);
        const Slice own = EvenSlice(rank.size(), each, unit % each);
        const Slice whole = EvenSlice(samples, units, unit);
        ASSERT_EQ(own.size(), whole.size()) << samples << " samples, unit " << unit << " of " << units;
        if (own.size() > 0) {
          ASSERT_EQ(rank.begin + own.begin, whole.begin);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotrow
