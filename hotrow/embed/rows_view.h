#pragma once
// Where a table's rows lie, as the kernels see it.

#include <cstdint>

#include "hotrow/embed/row_layout.h"

namespace hotrow {

/// Row r's weights are at Row(slot), its optimizer state, where the optimizer has any, at State(slot); slot
/// is r itself, or in lazy tables slots[r] - 1, where slots[r] = 0 marks a row that was never trained.
/// Non-owning.
struct RowsView {
  RowLayout layout;
  float* rows = nullptr;
  float* states = nullptr;
  std::int64_t state_stride = 0;         ///< floats
  const std::uint32_t* slots = nullptr;  ///< null: eager

  /// -1 for a row that was never trained.
  std::int64_t Slot(std::int64_t row) const {
    return slots == nullptr ? row : static_cast<std::int64_t>(slots[row]) - 1;
  }
  float* Row(std::int64_t slot) const { return rows + slot * layout.stride; }
  float* State(std::int64_t slot) const { return states + slot * state_stride; }

  /// A row's weights; null for a row that was never trained.
  float* Find(std::int64_t row) const {
    const std::int64_t slot = Slot(row);
    return slot < 0 ? nullptr : Row(slot);
  }
};

}  // namespace hotrow
