#pragma once
// Memory for numbers: aligned, movable, and on huge pages when it is large.

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {

/// An anonymous memory mapping. Large ones ask for transparent huge pages: random row reads are up to twice
/// as fast with them, since a 4 KiB page costs a TLB miss a row.
class MappedMemory {
 public:
  MappedMemory() = default;
  /// Maps `bytes` of zeros (0: nothing). Pages become resident when first touched.
  /// Throws Error that says what was asked for and what the machine has.
  explicit MappedMemory(std::int64_t bytes);
  /// Reserves `bytes` of address space without memory behind it; Commit makes a part usable.
  static MappedMemory Reserve(std::int64_t bytes);
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Makes [begin, end) of a reserved mapping readable and writable (zeros). Both are rounded outwards to
  /// 2 MiB.
  void Commit(std::int64_t begin, std::int64_t end);

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// A move-only array of trivially copyable T, aligned to 64 bytes, zero at first. Grows but never shrinks, so
/// that a step that has seen its largest batch allocates nothing.
template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  /// `size` zeros.
  explicit Buffer(std::int64_t size) { EnsureSize(size); }

  /// Sets the size; when it exceeds what was ever held, allocates anew and the contents become zeros, else
  /// they stay.
  void EnsureSize(std::int64_t size) {
    HOTROW_CHECK(size >= 0);
    const std::int64_t bytes = CheckedMul(size, static_cast<std::int64_t>(sizeof(T)));
    if (bytes > memory_.bytes()) memory_ = MappedMemory(bytes);
    size_ = size;
  }

  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  std::int64_t size() const { return size_; }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }
  std::span<T> span() { return {data(), Index(size_)}; }
  std::span<const T> span() const { return {data(), Index(size_)}; }

 private:
  MappedMemory memory_;
  std::int64_t size_ = 0;
};

}  // namespace hotrow
