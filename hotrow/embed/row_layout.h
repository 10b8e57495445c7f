#pragma once
// How the rows of a table and their optimizer state are laid out.

#include <cstdint>

#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

/// All in floats. See RowsView (hotrow/embed/rows_view.h) for what lies where, and why.
struct RowLayout {
  std::int64_t dim = 0;       ///< weights of a row
  std::int64_t together = 0;  ///< weights, and the state right behind them
  /// From a row to the next: `together`, rounded up to whole cache lines, or else to 16 bytes, where that
  /// wastes at most 1/16 of it.
  std::int64_t stride = 0;
  std::int64_t apart = 0;  ///< state in an array of its own

  /// Of a row, padding and state included.
  std::int64_t bytes() const { return (stride + apart) * static_cast<std::int64_t>(sizeof(float)); }
};

RowLayout MakeRowLayout(std::int64_t dim, OptimizerKind optimizer);

}  // namespace hotrow
