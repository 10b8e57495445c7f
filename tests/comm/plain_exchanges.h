#pragma once
// The textbook's exchanges, which the product has no use for as such: its own say part by part what lies
// where.

#include <cstdint>
#include <span>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/reduce.h"

namespace hotrow {

/// Sends the r-th part of `send` to rank r and receives the r-th of `receive` from it: consecutive, of the
/// given counts. Empty parts are ordinary.
template <typename T>
Request StartAllToAllV(Communicator& comm, std::span<const T> send, std::span<const std::int64_t> send_counts,
                       std::span<T> receive, std::span<const std::int64_t> receive_counts,
                       Op op = Op::kAllToAll) {
  const auto ranks = Index(comm.size());
  HOTROW_CHECK(send_counts.size() == ranks && receive_counts.size() == ranks);
  const auto sent = Cut(send, send_counts);
  const auto received = Cut(receive, receive_counts);
  Parts<T> parts(comm);
  for (std::size_t r = 0; r < ranks; ++r) {
    parts.Send(static_cast<int>(r), sent[r]);
    parts.Receive(static_cast<int>(r), received[r]);
  }
  return parts.Start(comm, op);
}

/// Sends the r-th of size() equal parts of `send` to rank r; receives likewise.
template <typename T>
Request StartAllToAll(Communicator& comm, std::span<const T> send, std::span<T> receive,
                      Op op = Op::kAllToAll) {
  const auto ranks = Index(comm.size());
  HOTROW_CHECK(send.size() == receive.size() && send.size() % ranks == 0);
  const std::size_t count = send.size() / ranks;
  Parts<T> parts(comm);
  for (std::size_t r = 0; r < ranks; ++r) {
    parts.Send(static_cast<int>(r), send.subspan(r * count, count));
    parts.Receive(static_cast<int>(r), receive.subspan(r * count, count));
  }
  return parts.Start(comm, op);
}

template <typename T>
void AllToAll(Communicator& comm, std::span<const T> send, std::span<T> receive) {
  StartAllToAll(comm, send, receive).Wait();
}

template <typename T>
void ReduceScatterSum(Communicator& comm, std::span<const T> data, std::span<T> slice, bool present = true) {
  PendingSum<T> sum;
  sum.StartReduceScatter(comm, data, slice, present);
  sum.Wait();
}

}  // namespace hotrow
