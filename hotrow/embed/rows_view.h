#pragma once
// Where a table's rows lie, as the kernels see it.

#include <cstdint>

namespace hotrow {

/// Row r, its optimizer state right behind its weights, is at rows + slot * stride; slot is r itself, or in
/// lazy tables slots[r] - 1, where slots[r] = 0 marks a row that was never trained. Non-owning.
struct RowsView {
  float* rows = nullptr;
  std::int64_t stride = 0;               ///< floats
  const std::uint32_t* slots = nullptr;  ///< null: eager

  /// Null for a row that was never trained.
  float* Find(std::int64_t row) const {
    if (slots == nullptr) return rows + row * stride;
    const std::uint32_t slot = slots[row];
    return slot == 0 ? nullptr : rows + static_cast<std::int64_t>(slot - 1) * stride;
  }
};

}  // namespace hotrow
