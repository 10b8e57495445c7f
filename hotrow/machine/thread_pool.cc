#include "hotrow/machine/thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/machine/start_thread.h"

namespace hotrow {

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work_ready;
  std::condition_variable work_done;
  std::uint64_t generation = 0;  // guarded by mutex; a new value is a new Run
  int active = 0;                // guarded by mutex; workers still inside the current Run
  bool stopping = false;         // guarded by mutex

  const FunctionRef<void(std::int64_t, int)>* body = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};

  std::exception_ptr failure;  // guarded by mutex, with the task it came from
  std::int64_t failed_task = 0;

  std::vector<std::thread> workers;

  // Of a pool whose constructor failed, too: threads that no one joins end the process.
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work_ready.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void Work(int thread) {
    for (;;) {
      const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks) return;
      try {
        (*body)(task, thread);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure || task < failed_task) {
          failure = std::current_exception();
          failed_task = task;
        }
        next.store(tasks, std::memory_order_relaxed);
      }
    }
  }

  void WorkerLoop(int thread) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex);
        work_ready.wait(lock, [&] { return stopping || generation != seen; });
        if (stopping) return;
        seen = generation;
      }
      Work(thread);
      const std::lock_guard lock(mutex);
      if (--active == 0) work_done.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  HOTROW_CHECK(threads >= 1);
  state_->workers.reserve(Index(threads - 1));
  for (int thread = 1; thread < threads; ++thread) {
    state_->workers.push_back(StartThread([state = state_.get(), thread] { state->WorkerLoop(thread); }));
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::Run(std::int64_t tasks, FunctionRef<void(std::int64_t, int)> body) {
  if (tasks <= 0) return;
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    HOTROW_CHECK(s.active == 0 && s.body == nullptr);
    s.body = &body;
    s.tasks = tasks;
    s.next.store(0, std::memory_order_relaxed);
    s.failure = nullptr;
    s.active = static_cast<int>(s.workers.size());
    ++s.generation;
  }
  s.work_ready.notify_all();
  s.Work(0);
  std::unique_lock lock(s.mutex);
  s.work_done.wait(lock, [&] { return s.active == 0; });
  s.body = nullptr;
  if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
}

}  // namespace hotrow
