#pragma once
// Reading other ranks' memory in place, where ranks are threads of one process.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <type_traits>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/comm/communicator.h"

namespace hotrow {

/// A collective: publishes a span of this rank and gives access to the spans of all ranks. A peer's span is
/// readable until Release; it is writable too, where ranks agree on who writes what. Release returns when
/// every rank has called it. Shares end in the reverse order of their beginning. Destroying an unreleased
/// share releases it. While an exception passes through, the destructor instead ends the world, and waits
/// until no rank can read any more. So a published span may live on the stack.
template <typename T>
class Share {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Throws std::logic_error unless comm.shares_memory().
  Share(Communicator& comm, std::span<T> mine) : comm_(comm), exceptions_(std::uncaught_exceptions()) {
    // A const T is published all the same; spans() gives it back as it came.
    using Bytes = std::span<std::byte>;
    spans_.resize(Index(comm.size()));
    const Bytes bytes(reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(mine.data())),
                      mine.size_bytes());
    const std::vector<Bytes> peers = comm_.BeginShare(bytes, &id_);
    open_ = true;  // nothing below throws
    for (std::size_t r = 0; r < peers.size(); ++r) {
      spans_[r] = std::span<T>(reinterpret_cast<T*>(peers[r].data()), peers[r].size() / sizeof(T));
    }
  }
  ~Share() {
    if (!open_) return;
    if (std::uncaught_exceptions() <= exceptions_) {
      try {
        Release();
        return;
      } catch (...) {  // the next collective throws it again
      }
    }
    comm_.AbandonShare(id_);
  }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  /// spans()[r] is what rank r published.
  std::span<const std::span<T>> spans() const { return spans_; }

  void Release() {
    comm_.EndShare(id_);
    open_ = false;
    spans_.clear();
  }

 private:
  Communicator& comm_;
  int exceptions_;
  std::uint64_t id_ = 0;
  bool open_ = false;
  std::vector<std::span<T>> spans_;
};

/// Collective: one object for all ranks that share memory, made by rank 0; of ranks that do not, each makes
/// its own. make() returns a std::shared_ptr.
template <typename Make>
auto MakeShared(Communicator& comm, Make&& make) -> decltype(make()) {
  using Pointer = decltype(make());
  const bool shared = comm.size() > 1 && comm.shares_memory();
  Pointer made = comm.leads_memory() ? make() : nullptr;
  if (!shared) return made;
  const Pointer* const mine = &made;
  Share<const Pointer* const> of_ranks(comm, std::span<const Pointer* const>(&mine, 1));
  Pointer first = *of_ranks.spans()[0][0];
  of_ranks.Release();
  return first;
}

}  // namespace hotrow
