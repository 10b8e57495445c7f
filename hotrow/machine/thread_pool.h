#pragma once
// The compute threads of a process (or of one rank of it).

#include <cstdint>
#include <memory>

#include "hotrow/base/function_ref.h"

namespace hotrow {

/// A fixed set of threads that work through numbered tasks. The caller is one of them: a pool of one starts
/// no thread. Workers sleep while there is nothing to do; they never spin. Which thread takes which task is
/// not determined, so a task's result must not depend on it.
class ThreadPool {
 public:
  /// `threads` >= 1, the caller included. Throws SystemError when the system gives no more threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  /// Calls body(task, thread) once for every task in [0, tasks), thread in [0, size()). Tasks are claimed one
  /// by one in ascending order, so put the large ones first. Returns when all are done. When a task throws,
  /// no further task is claimed and the exception of the lowest-numbered failed task is rethrown. Not
  /// reentrant: one Run at a time, from one thread, and not from inside a body.
  void Run(std::int64_t tasks, FunctionRef<void(std::int64_t task, int thread)> body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hotrow
