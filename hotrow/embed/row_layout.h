#pragma once
// How the rows of a table and their optimizer state are laid out.

#include <cstdint>

#include "hotrow/base/size.h"
#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

/// All in floats. State of a number a weight lies right behind the weights, so that an update touches one
/// place. One number a row lies in an array of its own: behind the weights it would push every row off its
/// cache lines, and there sixteen neighbours share a line.
struct RowLayout {
  std::int64_t dim = 0;       ///< weights of a row
  std::int64_t together = 0;  ///< weights, and the state right behind them
  /// From a row to the next: `together`, rounded up to whole cache lines, or else to 16 bytes, where that
  /// wastes at most 1/16 of it.
  std::int64_t stride = 0;
  std::int64_t apart = 0;  ///< state in the array of its own

  /// Of a row, padding and state included.
  std::int64_t bytes() const {
    return CheckedMul(CheckedAdd(stride, apart), static_cast<std::int64_t>(sizeof(float)));
  }
};

/// Throws Error where a row's size overflows 64 bits.
RowLayout MakeRowLayout(std::int64_t dim, OptimizerKind optimizer);

}  // namespace hotrow
