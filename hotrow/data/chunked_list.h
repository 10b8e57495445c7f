#pragma once
// A list that grows without moving what it holds.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace hotrow {

/// Told the bytes that are about to be allocated; may throw to refuse them.
using BeforeGrowth = std::function<void(std::int64_t bytes)>;

/// Values in chunks of 2^20: growing takes one more chunk, where a vector would need a second array of the
/// old one's size beside it, and what is not yet written takes no memory.
template <typename T>
class ChunkedList {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 20;

  explicit ChunkedList(BeforeGrowth before_growth = {}) : before_growth_(std::move(before_growth)) {}

  void Append(T value) {
    if (size_ == chunks_.size() * kChunk) AddChunk();
    chunks_[size_ / kChunk][size_ % kChunk] = value;
    ++size_;
  }
  T operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Writes values begin, …, begin + count - 1 to `to`.
  void Copy(std::size_t begin, std::size_t count, T* to) const {
    while (count > 0) {
      const std::size_t here = std::min(count, kChunk - begin % kChunk);
      to = std::copy_n(chunks_[begin / kChunk].get() + begin % kChunk, here, to);
      begin += here;
      count -= here;
    }
  }

  /// Drops the values, keeps the memory.
  void Clear() { size_ = 0; }
  /// Drops both.
  void Free() {
    Clear();
    chunks_.clear();
  }

 private:
  void AddChunk() {
    if (before_growth_) before_growth_(static_cast<std::int64_t>(kChunk * sizeof(T)));
    chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunk));
  }

  BeforeGrowth before_growth_;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace hotrow
