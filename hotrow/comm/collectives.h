#pragma once
// Typed collectives. Counts are elements, everything is in rank order, and T is a plain number or struct
// whose bytes mean the same on every rank. All are called by all ranks in one order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/comm/communicator.h"

namespace hotrow {

/// A send span and a receive span for each peer, gathered before an exchange starts.
template <typename T>
class Parts {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Parts(const Communicator& comm) : send_(Index(comm.size())), receive_(send_.size()) {}

  void Send(int peer, std::span<const T> data) { send_[Index(peer)] = std::as_bytes(data); }
  void Receive(int peer, std::span<T> data) { receive_[Index(peer)] = std::as_writable_bytes(data); }
  Request Start(Communicator& comm, Op op = Op::kAllToAll) const {
    return comm.StartAllToAll(send_, receive_, op);
  }

 private:
  std::vector<SendPart> send_;
  std::vector<ReceivePart> receive_;
};

/// Cuts `data` into consecutive spans of the given counts, whose sum must be its size.
template <typename T>
std::vector<std::span<T>> Cut(std::span<T> data, std::span<const std::int64_t> counts) {
  std::vector<std::span<T>> parts;
  parts.reserve(counts.size());
  std::size_t begin = 0;
  for (std::int64_t count : counts) {
    HOTROW_CHECK(count >= 0 && Index(count) <= data.size() - begin);
    parts.push_back(data.subspan(begin, Index(count)));
    begin += Index(count);
  }
  HOTROW_CHECK(begin == data.size());
  return parts;
}

/// parts[r] receives rank r's part, whose size every rank knows; parts[rank()] is what this rank gives, in
/// place.
template <typename T>
Request StartAllGatherInPlace(Communicator& comm, std::span<const std::span<T>> all, Op op = Op::kAllGather) {
  HOTROW_CHECK(all.size() == Index(comm.size()));
  Parts<T> parts(comm);
  for (int r = 0; r < comm.size(); ++r) {
    parts.Send(r, all[Index(comm.rank())]);
    parts.Receive(r, all[Index(r)]);
  }
  return parts.Start(comm, op);
}

/// all = every rank's `mine`; the same number from each.
template <typename T>
void AllGather(Communicator& comm, std::span<const T> mine, std::span<T> all) {
  HOTROW_CHECK(all.size() == mine.size() * Index(comm.size()));
  Parts<T> parts(comm);
  for (int r = 0; r < comm.size(); ++r) {
    parts.Send(r, mine);
    parts.Receive(r, all.subspan(Index(r) * mine.size(), mine.size()));
  }
  parts.Start(comm, Op::kAllGather).Wait();
}

/// One value from every rank.
template <typename T>
std::vector<T> AllGather(Communicator& comm, const T& mine) {
  std::vector<T> all(Index(comm.size()));
  AllGather<T>(comm, std::span<const T>(&mine, 1), all);
  return all;
}

/// Every rank's `mine`, whose sizes nobody knows beforehand: they are exchanged first.
template <typename T>
std::vector<std::vector<T>> AllGatherV(Communicator& comm, std::span<const T> mine) {
  const auto sizes = AllGather(comm, static_cast<std::int64_t>(mine.size()));
  std::vector<std::vector<T>> all;
  Parts<T> parts(comm);
  all.reserve(sizes.size());
  for (int r = 0; r < comm.size(); ++r) {
    all.emplace_back(Index(sizes[Index(r)]));
    parts.Send(r, mine);
    parts.Receive(r, all.back());
  }
  parts.Start(comm, Op::kAllGather).Wait();
  return all;
}

/// Every rank's text, on `root`; empty elsewhere.
std::vector<std::string> GatherText(Communicator& comm, const std::string& mine, int root = 0);

/// data of `root` on every rank; the same size everywhere. The root sends it to each: for small things.
template <typename T>
void Broadcast(Communicator& comm, std::span<T> data, int root = 0) {
  Parts<T> parts(comm);
  if (comm.rank() == root) {
    for (int r = 0; r < comm.size(); ++r) parts.Send(r, data);
  }
  parts.Receive(root, data);
  parts.Start(comm, Op::kBroadcast).Wait();
}

/// Element-wise over ranks, in place. Every rank receives all: for timings and flags, not for gradients.
template <typename T>
void AllReduceMax(Communicator& comm, std::span<T> data) {
  std::vector<T> all(data.size() * Index(comm.size()));
  AllGather<T>(comm, data, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    data[i % data.size()] = std::max(data[i % data.size()], all[i]);
  }
}
template <typename T>
T AllReduceMax(Communicator& comm, T value) {
  AllReduceMax<T>(comm, std::span<T>(&value, 1));
  return value;
}
template <typename T>
void AllReduceMin(Communicator& comm, std::span<T> data) {
  std::vector<T> all(data.size() * Index(comm.size()));
  AllGather<T>(comm, data, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    data[i % data.size()] = std::min(data[i % data.size()], all[i]);
  }
}
template <typename T>
T AllReduceMin(Communicator& comm, T value) {
  AllReduceMin<T>(comm, std::span<T>(&value, 1));
  return value;
}

/// Throws Error on every rank, naming the ranks that differ, unless all hold the same bytes. `what` begins
/// the message: "the configuration", "the dense weights after step 12".
void CheckAgreement(Communicator& comm, std::span<const std::byte> mine, std::string_view what);

}  // namespace hotrow
