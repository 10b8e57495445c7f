#pragma once
// The one binary tree in which partial sums of reduction units are combined: dense gradients, a row's
// gradient, and the loss.
//   - Unit u is leaf u. An inner node is left + right.
//   - A node with one child present is that child. Absent units add nothing.
//   - A contiguous, aligned block of units is a subtree. So ranks can sum their own units first, and the
//     all-reduce is the top of the tree.

#include <bit>
#include <cstdint>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"

namespace hotrow {

/// Units that a batch may be cut into, at most.
inline constexpr std::int64_t kMaxReductionUnits = std::int64_t{1} << 20;

/// Between consecutive present units `unit` < `next` the subtrees of 2^TreeLevel units around `unit` are
/// complete: partial sums on a stack whose first unit shares (unit >> level) with it must be merged, newest
/// first, before the next is pushed.
inline int TreeLevel(std::uint64_t unit, std::uint64_t next) {
  return static_cast<int>(std::bit_width(unit ^ next)) - 1;
}

/// Calls merge(into, from) ("into += from", slot numbers of a stack) in tree order as units are pushed in
/// ascending order. The caller keeps the partial sums in slots 0, 1, …; at most bit_width(max unit) + 1 slots
/// are in use.
class TreeStack {
 public:
  /// Slot for a new present unit's partial sum, after merging what is complete. Units ascend strictly.
  template <typename Merge>
  int Push(std::uint64_t unit, Merge&& merge) {
    if (depth_ > 0) {
      const int level = TreeLevel(units_[depth_ - 1], unit);
      while (depth_ > 1 && (units_[depth_ - 2] >> level) == (units_[depth_ - 1] >> level)) {
        --depth_;
        merge(depth_ - 1, depth_);
      }
    }
    units_[depth_] = unit;
    return depth_++;
  }
  /// Merges all into slot 0. Returns false when nothing was pushed.
  template <typename Merge>
  bool Finish(Merge&& merge) {
    if (depth_ == 0) return false;
    while (depth_ > 1) {
      --depth_;
      merge(depth_ - 1, depth_);
    }
    depth_ = 0;
    return true;
  }

 private:
  std::uint64_t units_[65] = {};
  int depth_ = 0;
};

}  // namespace hotrow
