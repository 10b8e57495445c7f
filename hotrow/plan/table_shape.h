#pragma once
// What a plan needs to know of a model's embedding table: its size, its optimizer's state, its traffic.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/base/size.h"

namespace hotrow {

struct TableShape {
  std::string name;
  std::int64_t rows = 0;  ///< >= 1
  std::int64_t dim = 0;   ///< columns, >= 1
  /// Floats of optimizer state: for each element of a row (SGD 0, Adagrad 1, Adam 2), and for each row of
  /// each shard (row-wise Adagrad 1: every column shard of a row keeps the same accumulator).
  std::int64_t state_per_element = 0;
  std::int64_t state_per_row = 0;
  /// Floats of optimizer state that a shard of `columns` columns keeps for a row. Throws Error where that
  /// does not fit in 63 bits; as a double, for plans that may not be valid, it is never refused.
  std::int64_t StateOfRow(std::int64_t columns) const {
    return CheckedAdd(CheckedMul(columns, state_per_element), state_per_row);
  }
  double StateOfRow(double columns) const {
    return columns * static_cast<double>(state_per_element) + static_cast<double>(state_per_row);
  }

  double ids_per_sample = 0;           ///< of all its features together; a mean where bags vary
  std::vector<std::int64_t> features;  ///< positions, among the batch's keys, of those that look up here
};

}  // namespace hotrow
