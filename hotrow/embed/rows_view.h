#pragma once
// Where a table's rows lie, as the kernels see it.

#include <cstdint>

namespace hotrow {

/// Row r's weights are at rows + slot * stride, its optimizer state at states + slot * state_stride; slot is
/// r itself, or in lazy tables slots[r] - 1, where slots[r] = 0 marks a row that was never trained. State as
/// wide as the weights lies right behind them, so that an update touches one place. One number a row lies in
/// an array of its own: beside the weights it would push every row off its cache lines, and the array is
/// small and dense enough for caches. Non-owning.
struct RowsView {
  float* rows = nullptr;
  std::int64_t stride = 0;  ///< floats
  float* states = nullptr;
  std::int64_t state_stride = 0;
  std::int64_t together = 0;             ///< floats that an update touches from Row(slot) on
  std::int64_t apart = 0;                ///< and from State(slot) on, where that is elsewhere
  const std::uint32_t* slots = nullptr;  ///< null: eager

  /// -1 for a row that was never trained.
  std::int64_t Slot(std::int64_t row) const {
    return slots == nullptr ? row : static_cast<std::int64_t>(slots[row]) - 1;
  }
  float* Row(std::int64_t slot) const { return rows + slot * stride; }
  float* State(std::int64_t slot) const { return states + slot * state_stride; }

  /// A row's weights; null for a row that was never trained.
  float* Find(std::int64_t row) const {
    const std::int64_t slot = Slot(row);
    return slot < 0 ? nullptr : Row(slot);
  }
};

}  // namespace hotrow
