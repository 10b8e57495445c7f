#include "hotrow/comm/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/tree_sum.h"
#include "hotrow/comm/collectives.h"

namespace hotrow {
namespace {

// Elements summed at a time: a stack of partial sums, a level of the tree each, stays in the first-level
// cache. A world of up to 64 ranks has full blocks.
constexpr std::int64_t kBlock = 512;
constexpr int kLevels = 32;
constexpr std::int64_t kPartialSums = 8 * kBlock;

template <typename T>
void Add(const T* a, const T* b, std::int64_t count, T* out) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(static_cast<Unsigned>(a[i]) + static_cast<Unsigned>(b[i]));
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
  }
}

}  // namespace

template <typename T>
void TreeSum(std::span<const T* const> sources, std::int64_t count, T* out) {
  HOTROW_CHECK(!sources.empty());
  if (sources.size() == 1) {
    if (sources[0] != out) std::copy_n(sources[0], count, out);
    return;
  }
  std::array<T, kPartialSums> partial;
  const std::int64_t block =
      std::min(kBlock, kPartialSums / static_cast<std::int64_t>(std::bit_width(sources.size()) + 1));
  std::array<const T*, kLevels> slots{};
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t size = std::min(block, count - begin);
    const auto merge = [&](int into, int from) {
      T* sum = partial.data() + into * block;
      Add(slots[Index(into)], slots[Index(from)], size, sum);
      slots[Index(into)] = sum;
    };
    TreeStack stack;
    for (std::size_t r = 0; r < sources.size(); ++r) {
      const int slot = stack.Push(r, merge);
      slots[Index(slot)] = sources[r] + begin;
    }
    stack.Finish(merge);
    if (slots[0] != out + begin) std::copy_n(slots[0], size, out + begin);
  }
}

template <typename T>
void PendingSum<T>::StartReduceScatter(Communicator& comm, std::span<const T> data, std::span<T> slice,
                                       bool present) {
  HOTROW_CHECK(!pending());
  const auto size = static_cast<std::int64_t>(data.size());
  HOTROW_CHECK(static_cast<std::int64_t>(slice.size()) == ReduceSlice(comm, size, comm.rank()).size());
  comm_ = &comm;
  data_ = data;
  out_ = slice;
  all_ = {};
  Start(Op::kReduceScatter, /*whole=*/false, present);
}

template <typename T>
void PendingSum<T>::StartAllReduce(Communicator& comm, std::span<T> data, bool present) {
  HOTROW_CHECK(!pending());
  const bool whole = static_cast<std::int64_t>(data.size_bytes()) <= kSmallBytes;
  const Slice mine = ReduceSlice(comm, static_cast<std::int64_t>(data.size()), comm.rank());
  comm_ = &comm;
  data_ = data;
  out_ = whole ? data : data.subspan(Index(mine.begin), Index(mine.size()));
  all_ = whole ? std::span<T>() : data;
  Start(Op::kAllReduce, whole, present);
}

template <typename T>
void PendingSum<T>::Start(Op op, bool whole, bool present) {
  const int ranks = comm_->size();
  const auto size = static_cast<std::int64_t>(data_.size());
  const auto slice = [&](int rank) { return whole ? Slice{0, size} : ReduceSlice(*comm_, size, rank); };
  if (!present) {
    nothing_.EnsureSize(slice(0).size());  // the largest
    std::fill_n(nothing_.data(), nothing_.size(), std::is_integral_v<T> ? T{0} : -T{0});
  }
  const auto mine = static_cast<std::int64_t>(out_.size());
  staging_.EnsureSize(mine * ranks);
  sources_.assign(Index(ranks), nullptr);
  Parts<T> parts(*comm_);
  for (int r = 0; r < ranks; ++r) {
    const Slice theirs = slice(r);
    const T* give = present ? data_.data() + theirs.begin : nothing_.data();
    if (r == comm_->rank()) {
      sources_[Index(r)] = give;  // summed where it lies
      continue;
    }
    T* received = staging_.data() + r * mine;
    sources_[Index(r)] = received;
    parts.Send(r, std::span<const T>(give, Index(theirs.size())));
    parts.Receive(r, std::span<T>(received, Index(mine)));
  }
  request_ = parts.Start(*comm_, op);
}

template <typename T>
void PendingSum<T>::Wait() {
  HOTROW_CHECK(pending());
  // The data of a whole sum, and all but the own slice, must have been taken by the peers before it changes.
  request_.Wait();
  TreeSum<T>(sources_, static_cast<std::int64_t>(out_.size()), out_.data());
  Communicator* comm = std::exchange(comm_, nullptr);
  if (!all_.empty()) StartAllGatherSlices<T>(*comm, all_, Op::kAllReduce).Wait();
}

template <typename T>
Request StartAllGatherSlices(Communicator& comm, std::span<T> data, Op op) {
  std::vector<std::span<T>> slices;
  for (int r = 0; r < comm.size(); ++r) {
    const Slice slice = ReduceSlice(comm, static_cast<std::int64_t>(data.size()), r);
    slices.push_back(data.subspan(Index(slice.begin), Index(slice.size())));
  }
  return StartAllGatherInPlace<T>(comm, slices, op);
}

#define HOTROW_INSTANTIATE(T)                                            \
  template void TreeSum<T>(std::span<const T* const>, std::int64_t, T*); \
  template class PendingSum<T>;                                          \
  template Request StartAllGatherSlices<T>(Communicator&, std::span<T>, Op)

HOTROW_INSTANTIATE(float);
HOTROW_INSTANTIATE(double);
HOTROW_INSTANTIATE(std::int64_t);
HOTROW_INSTANTIATE(std::uint64_t);

#undef HOTROW_INSTANTIATE

}  // namespace hotrow
