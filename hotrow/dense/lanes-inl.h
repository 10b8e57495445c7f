// Vector loops and sums whose bits do not depend on the vector width. Include it inside a Highway
// foreach_target file.

#if defined(HOTROW_DENSE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOTROW_DENSE_LANES_INL_H_
#undef HOTROW_DENSE_LANES_INL_H_
#else
#define HOTROW_DENSE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls body(d, i) for i in [0, size): whole vectors, then what is left one by one with the same operations.
template <class Body>
HWY_INLINE void ForEachVector(std::int64_t size, Body&& body) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) body(d, i);
  for (; i < size; ++i) body(d1, i);
}

/// For a pass over arrays larger than any cache near the core, whose own prefetcher stops at every 4 KiB
/// page: asking for the data this many floats ahead is worth a tenth of a pass.
constexpr std::int64_t kFloatsAhead = 512;
template <class D, class... Pointers>
HWY_INLINE void PrefetchAhead(D, Pointers... arrays) {
  if constexpr (hn::MaxLanes(D()) >= 4) (__builtin_prefetch(arrays + kFloatsAhead, 0, 3), ...);
}
template <class D, class... Pointers>
HWY_INLINE void PrefetchToWrite(D, Pointers... arrays) {
  if constexpr (hn::MaxLanes(D()) >= 4) (__builtin_prefetch(arrays + kFloatsAhead, 1, 3), ...);
}

/// Running sums of a dot product: element i goes to sum i % 16, whatever the vector width; Total adds them as
/// a tree.
constexpr std::int64_t kRunningSums = 16;
using SumTag = hn::CappedTag<float, 16>;
using SumVec = hn::Vec<SumTag>;
constexpr int kSumLanes = static_cast<int>(hn::MaxLanes(SumTag()));

HWY_INLINE float TotalOf16(float* HWY_RESTRICT sums) {
  for (int i = 0; i < 8; ++i) sums[i] += sums[i + 8];
  for (int i = 0; i < 4; ++i) sums[i] += sums[i + 4];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

/// out[r] = a · b[r] for kRows vectors b of `size` elements, `b_stride` apart.
template <int kRows>
HWY_INLINE void DotRows(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t b_stride,
                        std::int64_t size, float* HWY_RESTRICT out) {
  constexpr SumTag d;
  constexpr int kParts = static_cast<int>(kRunningSums / kSumLanes);
  SumVec sums[kRows][kParts];
  for (auto& row : sums) {
    for (SumVec& sum : row) sum = hn::Zero(d);
  }
  std::int64_t i = 0;
  for (; i + kRunningSums <= size; i += kRunningSums) {
    for (int part = 0; part < kParts; ++part) {
      const std::int64_t at = i + part * kSumLanes;
      const SumVec left = hn::LoadU(d, a + at);
      for (int r = 0; r < kRows; ++r) {
        sums[r][part] = hn::Add(sums[r][part], hn::Mul(left, hn::LoadU(d, b + r * b_stride + at)));
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    alignas(64) float lanes[kRunningSums];
    for (int part = 0; part < kParts; ++part) {
      hn::Store(sums[r][part], d, lanes + part * kSumLanes);
    }
    for (std::int64_t j = i; j < size; ++j) lanes[j - i] += a[j] * b[r * b_stride + j];
    out[r] = TotalOf16(lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#endif  // HOTROW_DENSE_LANES_INL_H_
