#include "hotrow/dist/recat.h"

#include <algorithm>
#include <cstring>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/dist/gather_kernels.h"

namespace hotrow {
namespace {

constexpr std::int64_t kElementsATask = 1 << 16;

template <typename T>
bool SameItems(std::span<const T> a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Calls body(first, count) for parts of [0, elements), on all threads.
template <typename Body>
void ForEachPart(std::int64_t elements, ThreadPool& pool, Body&& body) {
  const std::int64_t tasks = CeilDiv(elements, kElementsATask);
  pool.Run(tasks, [&](std::int64_t task, int thread) {
    const std::int64_t first = task * kElementsATask;
    body(first, std::min(kElementsATask, elements - first), thread);
  });
}

template <typename T>
std::int64_t Bytes(std::int64_t count) {
  return count * static_cast<std::int64_t>(sizeof(T));
}

}  // namespace

void Recat::FindBlocks(const RecatShape& shape, std::span<const std::int64_t> starts) {
  const std::int64_t blocks = shape.sources * shape.features;
  block_in_.resize(Index(blocks));
  block_out_.resize(Index(blocks));
  for (std::int64_t s = 0; s < shape.sources; ++s) {
    std::int64_t at = starts[Index(s)];
    for (std::int64_t f = 0; f < shape.features; ++f) {
      block_in_[Index(s * shape.features + f)] = at;
      at += shape.counts[Index(s * shape.features + f)];
    }
  }
  elements_ = 0;
  for (std::int64_t f = 0; f < shape.features; ++f) {
    for (std::int64_t s = 0; s < shape.sources; ++s) {
      block_out_[Index(s * shape.features + f)] = elements_;
      elements_ += shape.counts[Index(s * shape.features + f)];
    }
  }
}

bool Recat::IndexFits(const RecatShape& shape, std::span<const std::int64_t> starts) const {
  return reusable_ && SameItems(shape.samples, index_samples_) && SameItems(starts, index_starts_) &&
         SameItems(shape.fixed_sizes, index_sizes_);
}

void Recat::MakeIndex(const RecatShape& shape, std::span<const std::int64_t> starts, ThreadPool& pool) {
  ++plans_made_;
  FindBlocks(shape, starts);
  index_.EnsureSize(elements_);
  const std::int64_t blocks = shape.sources * shape.features;
  pool.Run(blocks, [&](std::int64_t block, int) {
    const std::int64_t from = block_in_[Index(block)];
    std::uint32_t* out = index_.data() + block_out_[Index(block)];
    const std::int64_t count = shape.counts[Index(block)];
    HOTROW_CHECK(from + count <= std::int64_t{1} << 32);
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::uint32_t>(from + i);
  });
  index_samples_.assign(shape.samples.begin(), shape.samples.end());
  index_starts_.assign(starts.begin(), starts.end());
  index_sizes_.assign(shape.fixed_sizes.begin(), shape.fixed_sizes.end());
  reusable_ =
      std::none_of(index_sizes_.begin(), index_sizes_.end(), [](std::int32_t size) { return size < 0; });
}

template <typename T>
std::int64_t Recat::RunTc(const T* in, T* out, ThreadPool& pool) {
  ForEachPart(elements_, pool, [&](std::int64_t first, std::int64_t count, int) {
    GatherElements(in, index_.data() + first, count, out + first);
  });
  return Bytes<T>(2 * elements_) + Bytes<std::uint32_t>(elements_);
}

template <typename T>
std::int64_t Recat::RunSc(const T* in, T* out, ThreadPool& pool) {
  constexpr std::int64_t kLanes = 16;
  constexpr std::int64_t kTile = 256;  // ids: their padding, before and after, stays in a core's first cache
  tiles_.resize(std::max(tiles_.size(), Index(pool.size())));
  for (Buffer<std::byte>& tile : tiles_) tile.EnsureSize(Bytes<T>(2 * kTile * kLanes));
  ForEachPart(elements_, pool, [&](std::int64_t first, std::int64_t count, int thread) {
    T* const padded = reinterpret_cast<T*>(tiles_[Index(thread)].data());
    T* const gathered = padded + kTile * kLanes;
    const std::uint32_t* index = index_.data() + first;
    for (std::int64_t begin = 0; begin < count; begin += kTile) {
      const std::int64_t size = std::min(kTile, count - begin);
      PadElements(in, index + begin, size, padded);
      CopyPadded(padded, size, gathered);
      KeepLaneZero(gathered, size, out + first + begin);
    }
  });
  // An id is read, its vector written, read and written again, and lane 0 read and written.
  return Bytes<T>(elements_ * (3 + 3 * kLanes)) + Bytes<std::uint32_t>(elements_);
}

void Recat::MakeHostPlan(const RecatShape& shape, ThreadPool& pool) {
  ++plans_made_;
  const std::int64_t blocks = shape.sources * shape.features;
  bags_before_.assign(Index(blocks + 1), 0);
  bags_after_.resize(Index(blocks));
  for (std::int64_t block = 0; block < blocks; ++block) {
    bags_before_[Index(block + 1)] =
        bags_before_[Index(block)] + shape.samples[Index(block / shape.features)];
  }
  std::int64_t bags = 0;
  for (std::int64_t f = 0; f < shape.features; ++f) {
    for (std::int64_t s = 0; s < shape.sources; ++s) {
      bags_after_[Index(s * shape.features + f)] = bags;
      bags += shape.samples[Index(s)];
    }
  }
  lengths_before_.EnsureSize(bags);
  lengths_after_.EnsureSize(bags);
  offsets_before_.EnsureSize(bags);
  offsets_after_.EnsureSize(bags);
  pool.Run(blocks, [&](std::int64_t block, int) {
    const std::int64_t samples = shape.samples[Index(block / shape.features)];
    std::int32_t* before = lengths_before_.data() + bags_before_[Index(block)];
    if (const std::int32_t* lengths = shape.lengths[Index(block)]; lengths != nullptr) {
      std::copy_n(lengths, samples, before);
    } else {
      std::fill_n(before, samples, shape.fixed_sizes[Index(block % shape.features)]);
    }
    std::copy_n(before, samples, lengths_after_.data() + bags_after_[Index(block)]);
  });
  std::int64_t before = 0;
  std::int64_t after = 0;
  for (std::int64_t bag = 0; bag < bags; ++bag) {
    offsets_before_[bag] = before;
    offsets_after_[bag] = after;
    before += lengths_before_[bag];
    after += lengths_after_[bag];
  }
  HOTROW_CHECK(before == elements_ && after == elements_);
}

template <typename T>
std::int64_t Recat::RunCpu(const RecatShape& shape, const T* in, T* out, ThreadPool& pool) {
  MakeHostPlan(shape, pool);
  host_before_.EnsureSize(Bytes<T>(elements_));
  host_after_.EnsureSize(Bytes<T>(elements_));
  T* const host_before = reinterpret_cast<T*>(host_before_.data());
  T* const host_after = reinterpret_cast<T*>(host_after_.data());
  const std::int64_t blocks = shape.sources * shape.features;
  // To the host: the arrival's blocks, one after another.
  pool.Run(blocks, [&](std::int64_t block, int) {
    const std::int64_t first_bag = bags_before_[Index(block)];
    if (shape.counts[Index(block)] == 0) return;
    std::copy_n(in + block_in_[Index(block)], shape.counts[Index(block)],
                host_before + offsets_before_[first_bag]);
  });
  pool.Run(blocks, [&](std::int64_t block, int) {
    const std::int64_t samples = shape.samples[Index(block / shape.features)];
    const std::int64_t from = bags_before_[Index(block)];
    const std::int64_t to = bags_after_[Index(block)];
    for (std::int64_t b = 0; b < samples; ++b) {
      const T* ids = host_before + offsets_before_[from + b];
      T* moved = host_after + offsets_after_[to + b];
      for (std::int32_t i = 0; i < lengths_before_[from + b]; ++i) moved[i] = ids[i];
    }
  });
  // And back.
  ForEachPart(elements_, pool, [&](std::int64_t first, std::int64_t count, int) {
    std::copy_n(host_after + first, count, out + first);
  });
  const std::int64_t bags = bags_before_.back();
  // Lengths: written, read and written again, read twice for the offsets; offsets written and read.
  return Bytes<T>(6 * elements_) + Bytes<std::int32_t>(5 * bags) + Bytes<std::int64_t>(4 * bags);
}

std::int64_t Recat::Run(const RecatShape& shape, std::span<const std::int64_t> starts, const std::byte* in,
                        int element_bytes, std::byte* out, ThreadPool& pool) {
  HOTROW_CHECK(mode_ != RecatMode::kNone && (element_bytes == 4 || element_bytes == 8));
  const auto run = [&](auto element) -> std::int64_t {
    using T = decltype(element);
    const T* from = reinterpret_cast<const T*>(in);
    T* to = reinterpret_cast<T*>(out);
    if (mode_ == RecatMode::kCpu) return RunCpu(shape, from, to, pool);
    return mode_ == RecatMode::kSc ? RunSc(from, to, pool) : RunTc(from, to, pool);
  };
  if (mode_ == RecatMode::kCpu) {
    FindBlocks(shape, starts);
  } else if (!IndexFits(shape, starts)) {
    MakeIndex(shape, starts, pool);
  }
  return element_bytes == 4 ? run(std::uint32_t{}) : run(std::uint64_t{});
}

}  // namespace hotrow
