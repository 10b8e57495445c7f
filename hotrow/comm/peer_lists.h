#pragma once
// Reading every rank's lists: in place where ranks share memory, as copies where they do not.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/comm/share.h"
#include "hotrow/machine/buffer.h"

namespace hotrow {

class PeerLists {
 public:
  /// `comm` must outlive it.
  explicit PeerLists(Communicator& comm) : comm_(comm) {}

  /// Collective: publishes `mine`, as many lists on every rank, each of any size. They must stay as they are
  /// until Release returns. Allocates nothing once it has seen the most bytes, but for lists of spans.
  void Open(std::span<const std::span<const std::byte>> mine);
  /// Rank `rank`'s list `index`, whose elements were of type T; between Open and Release.
  template <typename T>
  std::span<const T> list(int rank, std::size_t index) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<const std::byte> bytes = of_rank_[Index(rank)][index];
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Collective.
  void Release();
  /// Closes what Release has not, without waiting for other ranks: while an exception passes.
  void Close() noexcept { share_.reset(); }

 private:
  using List = std::span<const std::byte>;

  void Gather();

  Communicator& comm_;
  std::vector<List> own_;
  std::vector<std::span<const List>> of_rank_;
  std::optional<Share<const List>> share_;

  // Where ranks do not share memory.
  std::vector<List> gathered_;  // [ranks, lists]
  Buffer<std::byte> bytes_;
};

}  // namespace hotrow
