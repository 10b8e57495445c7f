#pragma once
// How much of what one thread does is overlapped by work that its pool's other threads do meanwhile.

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "hotrow/trace/phase.h"

namespace hotrow {

/// When the tasks that a pool's threads share end. All of them call TaskEnded; one of them asks, between its
/// own tasks. While any task has not ended another thread is at work, since a thread takes the next one as
/// soon as it is free.
class TaskClock {
 public:
  TaskClock(std::int64_t tasks, int threads) : unfinished_(tasks), threads_(threads) {}

  /// Once a task, on the thread that did it.
  void TaskEnded() {
    last_end_.store(NowSeconds(), std::memory_order_relaxed);
    unfinished_.fetch_sub(1, std::memory_order_release);
  }

  /// Seconds of [begin, end], an interval of the asking thread that ends now, in which others were at work.
  double Overlapped(double begin, double end) const {
    if (threads_ == 1) return 0;
    if (unfinished_.load(std::memory_order_acquire) > 0) return end - begin;
    return std::clamp(last_end_.load(std::memory_order_relaxed) - begin, 0.0, end - begin);
  }

 private:
  std::atomic<std::int64_t> unfinished_;
  std::atomic<double> last_end_ = 0;
  int threads_;
};

}  // namespace hotrow
