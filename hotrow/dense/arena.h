#pragma once
// Arrays that are streamed side by side, in one piece of memory.

#include <cstdint>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/buffer.h"

namespace hotrow {

/// Arrays of floats that live together: first all are added, then memory is made once. Each starts on a cache
/// line, and no two at the same place of a 4 KiB page: passes that stream several arrays side by side would
/// otherwise stall, since the core takes a load for a reload of a pending store when their low 12 address
/// bits agree.
class Arena {
 public:
  /// Room for `size` floats; returns its number, for at().
  std::int64_t Add(std::int64_t size) {
    constexpr std::int64_t kPage = 1024;
    constexpr std::int64_t kLine = 16;
    const auto index = static_cast<std::int64_t>(offsets_.size());
    // 23 lines on from array to array: any few of them lie far apart.
    const std::int64_t offset = RoundUp(end_, kPage) + index * 23 % 64 * kLine;
    offsets_.push_back(offset);
    end_ = CheckedAdd(offset, size);
    return index;
  }
  /// Makes the memory, all zeros. No Add after it.
  void Allocate() { memory_.EnsureSize(end_); }

  float* at(std::int64_t index) { return memory_.data() + offsets_[Index(index)]; }
  const float* at(std::int64_t index) const { return memory_.data() + offsets_[Index(index)]; }

 private:
  std::vector<std::int64_t> offsets_;
  std::int64_t end_ = 0;
  Buffer<float> memory_;
};

}  // namespace hotrow
