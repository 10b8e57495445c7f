#pragma once
// Which reduction unit a sample belongs to: the contiguous parts of a batch inside which sums run in order,
// and across which they are combined by a binary tree (hotrow/base/tree_sum.h).

#include <cstdint>

#include "hotrow/base/buffer.h"
#include "hotrow/base/error.h"
#include "hotrow/base/size.h"

namespace hotrow {

class ReductionUnits {
 public:
  /// Cuts `samples` into `units` >= 1 by EvenSlice. Allocates only for a larger batch than any before.
  void Reset(std::int64_t samples, std::int64_t units) {
    HOTROW_CHECK(units >= 1 && units <= kMaxUnits);
    if (samples == samples_ && units == units_) return;
    samples_ = samples;
    units_ = units;
    unit_of_.EnsureSize(samples);
    end_of_.EnsureSize(units);
    for (std::int64_t u = 0; u < units; ++u) {
      const Slice slice = EvenSlice(samples, units, u);
      end_of_[u] = slice.end;
      for (std::int64_t s = slice.begin; s < slice.end; ++s) unit_of_[s] = static_cast<std::uint32_t>(u);
    }
  }

  std::uint32_t UnitOf(std::int64_t sample) const { return unit_of_[sample]; }
  /// One past the unit's last sample.
  std::int64_t End(std::uint32_t unit) const { return end_of_[unit]; }

  /// Partial sums that a row's gradient may need at a time.
  static constexpr std::int64_t kMaxPartials = 22;

 private:
  static constexpr std::int64_t kMaxUnits = std::int64_t{1} << (kMaxPartials - 2);

  std::int64_t samples_ = -1;
  std::int64_t units_ = -1;
  Buffer<std::uint32_t> unit_of_;
  Buffer<std::int64_t> end_of_;
};

}  // namespace hotrow
