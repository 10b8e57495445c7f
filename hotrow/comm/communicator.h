#pragma once
// How ranks exchange data: spans in, spans out. The receiver says where data goes; nothing is copied in
// between.
//
// Every rank calls the same collectives in the same order. One thread at a time uses a rank's Communicator.
// All transports share one primitive: an all-to-all of bytes, with one span for each peer, whose start and
// wait are two calls. The typed operations (comm/collectives.h) and the sums (comm/reduce.h) are made of it.
// Transports: threads of one process (comm/thread_ranks.h) and MPI (comm/mpi_session.h).
//
// Failure: no rank hangs when another rank fails. With thread ranks, pending and later collectives of the
// others throw Aborted. With MPI, the other processes end.
//
// Disagreement: sizes, or an Op, that differ between the two sides are a broken invariant (std::logic_error).
//   - Thread ranks always notice it.
//   - MPI ranks notice it by the messages that arrive, and an empty part sends no message. A rank waits for a
//     part that is never sent. A part that nobody expects counts as part of the next exchange with that rank.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace hotrow {

/// What bytes are counted under; the two sides of an exchange must agree on it.
enum class Op { kBarrier, kBroadcast, kAllGather, kAllToAll, kReduceScatter, kAllReduce, kShare };
inline constexpr int kOps = 7;
inline constexpr std::array<std::string_view, kOps> kOpNames = {
    "barrier", "broadcast", "all_gather", "all_to_all", "reduce_scatter", "all_reduce", "share"};

/// Another rank has failed and this one must stop. Not the cause: let it pass.
class Aborted : public std::exception {
 public:
  const char* what() const noexcept override { return "another rank failed"; }
};

using SendPart = std::span<const std::byte>;
using ReceivePart = std::span<std::byte>;

/// A started exchange. Move-only. The spans given at the start must stay as they are until Wait returns.
/// Destroying a request waits for it; while an exception passes through, it instead gives the exchange up,
/// which ends the world: afterwards no peer touches the spans any more.
class Request {
 public:
  /// A transport's side of a request.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void WaitReceived() = 0;
    virtual void Wait() = 0;
    virtual void Abandon() noexcept = 0;
  };

  Request() = default;
  explicit Request(std::unique_ptr<Pending> pending)
      : pending_(std::move(pending)), exceptions_(std::uncaught_exceptions()) {}
  ~Request() { Finish(); }
  Request(Request&&) = default;
  Request& operator=(Request&& other) noexcept;

  bool pending() const { return pending_ != nullptr; }
  /// Returns when everything has arrived here. What was sent may still be read by peers: Wait follows.
  void WaitReceived();
  /// Returns when everything has arrived here and every peer has taken what it was sent. Nothing to do when
  /// there is nothing pending.
  void Wait();

 private:
  void Finish() noexcept;

  std::unique_ptr<Pending> pending_;
  int exceptions_ = 0;  // in flight when the request was made
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Whether ranks can read one another's memory, which Share (comm/share.h) needs.
  virtual bool shares_memory() const = 0;
  /// Whether this rank makes, reads and changes what ranks of one memory have once: rank 0 of thread ranks,
  /// and every rank that shares no memory.
  bool leads_memory() const { return rank() == 0 || !shares_memory(); }

  /// Returns when every rank has called it.
  void Barrier();

  /// Starts sending send[r] to every rank r and receiving receive[r] from it. Both lists have size() spans.
  /// Sizes must agree pairwise; any span may be empty. The lists themselves need not outlive this call. The
  /// part for this rank itself is copied before this returns, and may be in place. Bytes move inside
  /// WaitReceived, Wait and Progress of any request. An exchange is no barrier.
  Request StartAllToAll(std::span<const SendPart> send, std::span<const ReceivePart> receive,
                        Op op = Op::kAllToAll);

  /// Moves what can be moved now, for all pending requests. Worth a call now and then during long work.
  virtual void Progress() = 0;

  /// Bytes sent to other ranks since the last reset, counted at the start of an exchange.
  std::int64_t sent(Op op) const { return sent_[static_cast<std::size_t>(op)]; }
  std::int64_t sent() const;
  void ResetSent() { sent_.fill(0); }

  /// Publishes `mine` and returns every rank's, readable until all ranks have ended it. Use Share
  /// (comm/share.h), which ends it in every case. Throws std::logic_error unless shares_memory().
  virtual std::vector<std::span<std::byte>> BeginShare(std::span<std::byte> mine, std::uint64_t* id);
  /// Returns when every rank has ended the share; throws Aborted when that cannot be.
  virtual void EndShare(std::uint64_t id);
  /// Aborts the world and returns when no rank reads the share any more.
  virtual void AbandonShare(std::uint64_t id) noexcept;

 protected:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

 private:
  virtual void DoBarrier() = 0;
  /// The lists are checked for their length, and the own part is done.
  virtual std::unique_ptr<Request::Pending> DoStart(std::span<const SendPart> send,
                                                    std::span<const ReceivePart> receive, Op op) = 0;

  std::array<std::int64_t, kOps> sent_{};
};

}  // namespace hotrow
