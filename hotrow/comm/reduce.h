#pragma once
// Sums over ranks, in the fixed tree of base/tree_sum.h. Rank r is leaf r, so the bits are the same on every
// transport and in every run. Where each rank has summed an aligned block of reduction units, this sum is the
// top of the units' tree.
//
// A rank may be absent: it adds nothing. It need not tell the others beforehand, since it sends -0.0 (0 for
// integers), which changes no bit of a sum. If all ranks are absent the sum is zero, of either sign.
//
// Instantiated for float, double, std::int64_t and std::uint64_t. Integers wrap modulo 2^64.

#include <cstdint>
#include <span>

#include "hotrow/base/size.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/machine/buffer.h"

namespace hotrow {

/// out[i] = the tree sum of sources[r][i] over r, for i in [0, count). At least one source; `out` may be one
/// of them. Reads every source once.
template <typename T>
void TreeSum(std::span<const T* const> sources, std::int64_t count, T* out);

/// The part of `size` elements that `rank` sums: contiguous, in rank order.
inline Slice ReduceSlice(const Communicator& comm, std::int64_t size, int rank) {
  return EvenSlice(size, comm.size(), rank);
}

/// A sum in flight. Keeps its staging memory for the next one: make one where sums repeat. Wait before the
/// next Start; the spans given to Start stay as they are until then. The communicator must outlive it.
template <typename T>
class PendingSum {
 public:
  /// slice = ReduceSlice(rank()) of the sum of every rank's `data`, whose size is the same on all. `slice`
  /// may be that part of `data` itself. Sends (size − 1) / size of the data.
  void StartReduceScatter(Communicator& comm, std::span<const T> data, std::span<T> slice,
                          bool present = true);
  /// data = the sum of every rank's `data`. Sends 2 · (size − 1) / size of it; Wait is a collective too,
  /// since the second half begins in it. Up to kSmallBytes everything goes to everyone at once instead.
  void StartAllReduce(Communicator& comm, std::span<T> data, bool present = true);
  void Wait();
  bool pending() const { return comm_ != nullptr; }

  static constexpr std::int64_t kSmallBytes = 4096;

 private:
  void Start(Op op, bool whole, bool present);

  Communicator* comm_ = nullptr;
  std::span<const T> data_;
  std::span<T> out_;  // the slice, or all of it
  std::span<T> all_;  // of an all-reduce by slices
  Buffer<T> staging_;
  Buffer<T> nothing_;  // what an absent rank sends
  std::vector<const T*> sources_;
  Request request_;  // last: ends first
};

template <typename T>
void AllReduceSum(Communicator& comm, std::span<T> data, bool present = true) {
  PendingSum<T> sum;
  sum.StartAllReduce(comm, data, present);
  sum.Wait();
}

template <typename T>
T AllReduceSum(Communicator& comm, T value, bool present = true) {
  AllReduceSum<T>(comm, std::span<T>(&value, 1), present);
  return value;
}

/// The same over the ranks that share this one's memory: what they take of it together.
template <typename T>
void AllReduceSumOfMemory(Communicator& comm, std::span<T> data) {
  if (comm.shares_memory()) AllReduceSum<T>(comm, data);
}

/// Every rank's ReduceSlice of `data` on every rank, in place: what ends a sliced optimizer's step.
template <typename T>
Request StartAllGatherSlices(Communicator& comm, std::span<T> data, Op op = Op::kAllGather);

extern template class PendingSum<float>;
extern template class PendingSum<double>;
extern template class PendingSum<std::int64_t>;
extern template class PendingSum<std::uint64_t>;

}  // namespace hotrow
