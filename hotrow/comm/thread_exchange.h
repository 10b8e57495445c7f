#pragma once
// What thread ranks share: who has published what, who still reads from whom, and whether the world goes on.
// Internal to the thread transport.
//
//   - The operations of all ranks have one order, so the k-th operation of each rank is the same Operation.
//   - A rank publishes the list of its send spans. Each peer copies its own part out ("pulls"), so bytes move
//     once. The sender is done when all its non-empty parts are pulled.
//   - One mutex guards everything except the copying itself.
//   - A rank that has nothing to do sleeps on its own condition variable. It is woken when an operation is
//     complete, or when its last part is pulled: about twice an operation, for any number of ranks.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/comm/communicator.h"

namespace hotrow::internal {

class ThreadExchange {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// One rank's part in one operation.
  struct Slot {
    bool published = false;
    std::vector<SendPart>
        send;                ///< a part for each rank; the list, unlike the bytes, outlives the sender's call
    int unpulled = 0;        ///< non-empty parts that peers have yet to copy
    int copying = 0;         ///< peers that copy now
    bool abandoned = false;  ///< hands off: the bytes are going away
  };
  struct Operation {
    Op op = Op::kBarrier;
    std::vector<Slot> slots;  ///< a rank each
    int published = 0;
    int left = 0;
  };

  /// timeout_seconds: longest wait of a rank for others; 0: for ever.
  ThreadExchange(int ranks, double timeout_seconds);

  int ranks() const { return ranks_; }
  Lock Acquire() { return Lock(mutex_); }

  // All of these with the lock held.

  void ThrowIfAborted() const {
    if (aborted_) throw Aborted();
  }
  /// Ends the world. `cause` may be null: given up without one (yet), or because another rank did.
  void Abort(int rank, std::exception_ptr cause);
  /// This rank's function has returned: it publishes nothing any more.
  void Leave(int rank);

  /// Publishes rank's part in operation `sequence`. Throws std::logic_error when others call it another op.
  Operation& Publish(std::uint64_t sequence, int rank, Op op, std::span<const SendPart> send);
  /// The rank is done with the operation; the last one frees it for reuse.
  void Done(Operation& operation);

  void Wake(int rank) { sleepers_[Index(rank)].notify_all(); }
  /// Sleeps until something may have changed. Throws when `operation` can never be complete, or at the
  /// deadline.
  using Clock = std::chrono::steady_clock;
  Clock::time_point Deadline() const;
  void Sleep(Lock& lock, int rank, const Operation& operation, Clock::time_point deadline);

  // Shares: who may read what was published under an id.
  void Hold(int rank, std::uint64_t id);
  void Drop(int rank, std::uint64_t id);
  bool Held(std::uint64_t id) const;

  /// Sleeps until done(), whatever happens to the world.
  template <typename Done>
  void SleepUntil(Lock& lock, int rank, Done&& done) {
    sleepers_[Index(rank)].wait(lock, done);
  }

  /// Rethrows the first failure, if there was one. Without the lock, when all ranks are gone.
  void RethrowCause();

 private:
  void WakeAll();
  Operation& Append(Op op);

  const int ranks_;
  const double timeout_seconds_;
  std::mutex mutex_;
  std::vector<std::condition_variable> sleepers_;  // a rank each
  std::deque<std::unique_ptr<Operation>> live_;    // operations first_, first_ + 1, …
  std::uint64_t first_ = 0;
  std::vector<std::unique_ptr<Operation>> free_;
  std::vector<std::vector<std::uint64_t>> held_;  // a rank each
  std::vector<bool> gone_;
  bool aborted_ = false;
  int first_failed_ = 0;
  std::vector<std::exception_ptr> causes_;  // a rank each
};

}  // namespace hotrow::internal
