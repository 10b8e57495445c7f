#pragma once
// Which reduction unit a sample belongs to: the contiguous parts of a batch inside which sums run in order,
// and across which they are combined by a binary tree (hotrow/base/tree_sum.h).

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/base/tree_sum.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/machine/buffer.h"

namespace hotrow {

/// In place of a number of units: each segment of the batch is a unit, whatever its size, and so ranks' sums
/// are combined as the top of the units' tree.
inline constexpr std::int64_t kUnitPerSegment = 0;

class ReductionUnits {
 public:
  /// Cuts the batch, all its segments together, into `units` >= 1 by EvenSlice; or kUnitPerSegment. Tables
  /// have the same numbers of samples, but for kUnitPerSegment. Allocates only for a larger batch than any
  /// before.
  void Reset(std::span<const BagGradients> tables, std::int64_t units) {
    HOTROW_CHECK(units >= 0 && units <= kMaxReductionUnits);
    sample_bits_ = SampleBits(tables);
    by_segment_ = units == kUnitPerSegment;
    const BagGradients* input = FirstWithFeatures(tables);
    if (by_segment_ || input == nullptr || SameCut(*input, units)) return;
    units_ = units;
    segments_.clear();
    for (std::int64_t s = 0; s < input->segments; ++s) segments_.push_back(input->samples(s));
    unit_of_.EnsureSize(input->segments << sample_bits_);
    end_of_.EnsureSize(units);
    const std::int64_t total = std::accumulate(segments_.begin(), segments_.end(), std::int64_t{0});
    std::int64_t unit = 0;
    std::int64_t unit_end = EvenSlice(total, units, 0).end;
    std::int64_t sample = 0;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      const std::int64_t begin = static_cast<std::int64_t>(s) << sample_bits_;
      for (std::int64_t code = begin; code < begin + segments_[s]; ++code, ++sample) {
        while (sample >= unit_end) unit_end = EvenSlice(total, units, ++unit).end;
        unit_of_[code] = static_cast<std::uint32_t>(unit);
        end_of_[unit] = code + 1;
      }
    }
  }

  /// `sample` is a sample's code (BagCode).
  std::uint64_t UnitOf(std::uint64_t sample) const {
    return by_segment_ ? sample >> sample_bits_ : unit_of_[static_cast<std::int64_t>(sample)];
  }
  /// One past the code of the unit's last sample.
  std::uint64_t End(std::uint64_t unit) const {
    return by_segment_ ? (unit + 1) << sample_bits_
                       : static_cast<std::uint64_t>(end_of_[static_cast<std::int64_t>(unit)]);
  }

  /// Partial sums that a row's gradient may need at a time.
  static constexpr std::int64_t kMaxPartials = 22;

 private:
  static_assert(kMaxReductionUnits <= std::int64_t{1} << (kMaxPartials - 2));

  static const BagGradients* FirstWithFeatures(std::span<const BagGradients> tables) {
    for (const BagGradients& input : tables) {
      if (!input.features.empty()) return &input;
    }
    return nullptr;
  }

  bool SameCut(const BagGradients& input, std::int64_t units) const {
    if (units != units_ || input.segments != static_cast<std::int64_t>(segments_.size())) return false;
    for (std::int64_t s = 0; s < input.segments; ++s) {
      if (input.samples(s) != segments_[Index(s)]) return false;
    }
    return true;
  }

  bool by_segment_ = false;
  int sample_bits_ = 0;
  std::int64_t units_ = 0;              // that unit_of_ and end_of_ are for
  std::vector<std::int64_t> segments_;  // and the samples of each segment
  Buffer<std::uint32_t> unit_of_;
  Buffer<std::int64_t> end_of_;
};

}  // namespace hotrow
