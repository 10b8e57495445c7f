#pragma once
// 64-bit sizes that cannot overflow silently: rows x columns x bytes of a table, offsets into a batch.

#include <cstdint>

#include "hotrow/base/error.h"

namespace hotrow {

/// a * b for sizes; throws Error when the product does not fit in 63 bits.
inline std::int64_t CheckedMul(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) Fail("size overflow: {} x {} does not fit in 64 bits", a, b);
  return out;
}

/// a + b for sizes; throws Error when the sum does not fit in 63 bits.
inline std::int64_t CheckedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) Fail("size overflow: {} + {} does not fit in 64 bits", a, b);
  return out;
}

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Bytes in GiB, as messages show them.
constexpr double GiB(std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kGiB); }

/// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// The smallest multiple of `unit` >= a, for a >= 0, unit > 0.
constexpr std::int64_t RoundUp(std::int64_t a, std::int64_t unit) { return CeilDiv(a, unit) * unit; }

/// [begin, end) of part `index` when `total` items are cut into `parts` contiguous parts whose sizes differ
/// by at most one, larger parts first. The one rule by which batches are cut into reduction units and work
/// into slices.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};
constexpr Slice EvenSlice(std::int64_t total, std::int64_t parts, std::int64_t index) {
  const std::int64_t small = total / parts;
  const std::int64_t larger = total % parts;
  const std::int64_t begin = index * small + (index < larger ? index : larger);
  return {begin, begin + small + (index < larger ? 1 : 0)};
}

}  // namespace hotrow
