#include "hotrow/dist/gather_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/dist/gather_kernels.cc"
// clang-format off: foreach_target must come before highway.h
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kPaddedLanes = 16;

// Plain loads, a cache line of them at a time: the machine's own gathers are no faster, and slower on some.
template <typename T>
void Gather(const T* HWY_RESTRICT in, const std::uint32_t* HWY_RESTRICT index, std::int64_t count,
            T* HWY_RESTRICT out) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  const hn::CappedTag<T, static_cast<std::size_t>(kLine)> d;
  constexpr std::int64_t kLanes =
      static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<T, static_cast<std::size_t>(kLine)>()));
  std::int64_t i = 0;
  if (reinterpret_cast<std::uintptr_t>(out) % 64 == 0) {
    HWY_ALIGN T line[kLine];
    for (; i + kLine <= count; i += kLine) {
      for (std::int64_t j = 0; j < kLine; ++j) line[j] = in[index[i + j]];
      for (std::int64_t j = 0; j < kLine; j += kLanes) hn::Stream(hn::Load(d, line + j), d, out + i + j);
    }
    hwy::FlushStream();
  }
  for (; i < count; ++i) out[i] = in[index[i]];
}

template <typename T>
void Pad(const T* HWY_RESTRICT in, const std::uint32_t* HWY_RESTRICT index, std::int64_t count,
         T* HWY_RESTRICT padded) {
  const hn::CappedTag<T, 16> d;
  constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<T, 16>()));
  for (std::int64_t i = 0; i < count; ++i) {
    T* vector = padded + i * kPaddedLanes;
    for (std::int64_t lane = 0; lane < kPaddedLanes; lane += kLanes) hn::Store(hn::Zero(d), d, vector + lane);
    *vector = in[index[i]];
  }
}

template <typename T>
void Copy(const T* HWY_RESTRICT padded, std::int64_t count, T* HWY_RESTRICT out) {
  const hn::CappedTag<T, 16> d;
  constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<T, 16>()));
  for (std::int64_t i = 0; i < count * kPaddedLanes; i += kLanes)
    hn::Store(hn::Load(d, padded + i), d, out + i);
}

void Gather4(const std::uint32_t* in, const std::uint32_t* index, std::int64_t count, std::uint32_t* out) {
  Gather(in, index, count, out);
}
void Gather8(const std::uint64_t* in, const std::uint32_t* index, std::int64_t count, std::uint64_t* out) {
  Gather(in, index, count, out);
}
void Pad4(const std::uint32_t* in, const std::uint32_t* index, std::int64_t count, std::uint32_t* out) {
  Pad(in, index, count, out);
}
void Pad8(const std::uint64_t* in, const std::uint32_t* index, std::int64_t count, std::uint64_t* out) {
  Pad(in, index, count, out);
}
void Copy4(const std::uint32_t* padded, std::int64_t count, std::uint32_t* out) { Copy(padded, count, out); }
void Copy8(const std::uint64_t* padded, std::int64_t count, std::uint64_t* out) { Copy(padded, count, out); }

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {
namespace {

HWY_EXPORT(Gather4);
HWY_EXPORT(Gather8);
HWY_EXPORT(Pad4);
HWY_EXPORT(Pad8);
HWY_EXPORT(Copy4);
HWY_EXPORT(Copy8);

constexpr std::int64_t kPaddedLanes = 16;

}  // namespace

void GatherElements(const std::uint32_t* in, const std::uint32_t* index, std::int64_t count,
                    std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(Gather4)(in, index, count, out);
}
void GatherElements(const std::uint64_t* in, const std::uint32_t* index, std::int64_t count,
                    std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(Gather8)(in, index, count, out);
}
void PadElements(const std::uint32_t* in, const std::uint32_t* index, std::int64_t count,
                 std::uint32_t* padded) {
  HWY_DYNAMIC_DISPATCH(Pad4)(in, index, count, padded);
}
void PadElements(const std::uint64_t* in, const std::uint32_t* index, std::int64_t count,
                 std::uint64_t* padded) {
  HWY_DYNAMIC_DISPATCH(Pad8)(in, index, count, padded);
}
void CopyPadded(const std::uint32_t* padded, std::int64_t count, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(Copy4)(padded, count, out);
}
void CopyPadded(const std::uint64_t* padded, std::int64_t count, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(Copy8)(padded, count, out);
}
void KeepLaneZero(const std::uint32_t* padded, std::int64_t count, std::uint32_t* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = padded[i * kPaddedLanes];
}
void KeepLaneZero(const std::uint64_t* padded, std::int64_t count, std::uint64_t* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = padded[i * kPaddedLanes];
}

}  // namespace hotrow
#endif  // HWY_ONCE
