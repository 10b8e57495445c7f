#pragma once
// How the reduction units of a global batch are shared out over ranks: each rank owns whole units, an aligned
// block of them.

#include <bit>
#include <cstdint>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/base/tree_sum.h"

namespace hotrow {

/// Throws Error unless each of `ranks` can own an aligned block of the units: `units` is ranks x a power of
/// two, from 1 to kMaxReductionUnits.
inline void ValidateReductionUnits(std::int64_t units, std::int64_t ranks = 1) {
  const bool shared = units >= ranks && units <= kMaxReductionUnits && units % ranks == 0 &&
                      std::has_single_bit(static_cast<std::uint64_t>(units / ranks));
  if (shared) return;
  if (ranks == 1) Fail("reduction units: {} is not a power of two from 1 to {}", units, kMaxReductionUnits);
  Fail("reduction units: {} ranks cannot share {}; valid: {}, {}, {}, ... up to {}", ranks, units, ranks,
       2 * ranks, 4 * ranks, kMaxReductionUnits);
}

/// The units a global batch is cut into where nobody chose: the fewest that `ranks` can share, 8 at least.
constexpr std::int64_t DefaultReductionUnits(std::int64_t ranks) {
  std::int64_t units = ranks;
  while (units < 8) units *= 2;
  return units;
}

/// The samples of a global batch that are `rank`'s: those of its units, of which each of `ranks` owns an
/// aligned block. Ranks differ by more than one sample where the units' sizes do.
constexpr Slice SamplesOfRank(std::int64_t samples, std::int64_t units, std::int64_t ranks,
                              std::int64_t rank) {
  const std::int64_t each = units / ranks;
  return {EvenSlice(samples, units, rank * each).begin, EvenSlice(samples, units, (rank + 1) * each - 1).end};
}

}  // namespace hotrow
