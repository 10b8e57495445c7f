#include "hotrow/dense/parameters.h"

#include <xxhash.h>

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kLine = 16;  // floats of a cache line: what a turn reads and writes at a time

// Columns [first, first + count) of in[rows, columns] become rows of out[count, rows].
void TurnColumns(const float* in, std::int64_t rows, std::int64_t columns, std::int64_t first,
                 std::int64_t count, float* out) {
  for (std::int64_t row = 0; row < rows; row += kLine) {
    const std::int64_t end = std::min(rows, row + kLine);
    for (std::int64_t column = 0; column < count; ++column) {
      for (std::int64_t i = row; i < end; ++i) out[column * rows + i] = in[i * columns + first + column];
    }
  }
}

}  // namespace

std::int64_t Parameters::Add(std::string name, std::int64_t rows, std::int64_t columns, bool transposed,
                             bool vector, std::int64_t row_padding) {
  HOTROW_CHECK(weights_.size() == 0 && rows >= 0 && columns >= 1 && row_padding >= 1);
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.offset = padded_size_;
  parameter.rows = rows;
  parameter.columns = columns;
  parameter.padded_rows = RoundUp(std::max<std::int64_t>(rows, 1), row_padding);
  parameter.transposed = transposed;
  parameter.vector = vector;
  padded_size_ = CheckedAdd(padded_size_, RoundUp(CheckedMul(parameter.padded_rows, columns), kLine));
  list_.push_back(std::move(parameter));
  return static_cast<std::int64_t>(list_.size()) - 1;
}

void Parameters::Allocate() {
  HOTROW_CHECK(weights_.size() == 0);
  weights_.EnsureSize(padded_size_);
}

void Parameters::ZeroPadding(float* flat, Slice part) const {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const Parameter& p = list_[i];
    const std::int64_t begin = std::max(p.offset + p.size(), part.begin);
    const std::int64_t end = std::min(i + 1 < list_.size() ? list_[i + 1].offset : padded_size_, part.end);
    if (begin < end) std::fill(flat + begin, flat + end, 0.0F);
  }
}

void Parameters::Export(std::int64_t index, const float* flat, std::span<float> out) const {
  const Parameter& p = list_[Index(index)];
  HOTROW_CHECK(static_cast<std::int64_t>(out.size()) == p.size());
  const float* in = flat + p.offset;
  if (!p.transposed) {
    std::copy_n(in, p.size(), out.data());
    return;
  }
  for (std::int64_t column = 0; column < p.columns; column += kLine) {
    const std::int64_t count = std::min(kLine, p.columns - column);
    TurnColumns(in, p.rows, p.columns, column, count, out.data() + column * p.rows);
  }
}

void Parameters::Import(std::int64_t index, std::span<const float> in, float* flat) const {
  const Parameter& p = list_[Index(index)];
  HOTROW_CHECK(static_cast<std::int64_t>(in.size()) == p.size());
  float* out = flat + p.offset;
  if (!p.transposed) {
    std::copy_n(in.data(), p.size(), out);
    return;
  }
  for (std::int64_t row = 0; row < p.rows; row += kLine) {
    const std::int64_t count = std::min(kLine, p.rows - row);
    TurnColumns(in.data(), p.columns, p.rows, row, count, out + row * p.columns);
  }
}

std::uint64_t Parameters::Hash(const float* flat) const {
  std::int64_t widest = 0;
  for (const Parameter& p : list_) {
    if (p.transposed) widest = std::max(widest, p.rows);
  }
  std::vector<float> lines(Index(widest * kLine));
  XXH3_state_t* state = XXH3_createState();
  HOTROW_CHECK(state != nullptr);
  const auto update = [&](const float* data, std::int64_t count) {
    XXH3_64bits_update(state, data, Index(count) * sizeof(float));
  };
  std::uint64_t sum = 0;
  for (const Parameter& p : list_) {
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, p.name.data(), p.name.size());
    if (p.transposed) {
      for (std::int64_t column = 0; column < p.columns; column += kLine) {
        const std::int64_t count = std::min(kLine, p.columns - column);
        TurnColumns(flat + p.offset, p.rows, p.columns, column, count, lines.data());
        update(lines.data(), count * p.rows);
      }
    } else {
      update(flat + p.offset, p.size());
    }
    sum += XXH3_64bits_digest(state);
  }
  XXH3_freeState(state);
  return sum;
}

}  // namespace hotrow
