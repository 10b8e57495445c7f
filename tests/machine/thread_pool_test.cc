#include "hotrow/machine/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/few_threads.h"

namespace hotrow {
namespace {

using ::testing::Each;
using ::testing::ThrowsMessage;

class ThreadPoolTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, ::testing::Values(1, 2, 3, 4, 8));

TEST_P(ThreadPoolTest, DoesEveryTaskOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (std::int64_t tasks : {1, 2, 7, 64, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
    std::atomic<bool> in_range{true};
    pool.Run(tasks, [&](std::int64_t task, int thread) {
      ++runs[static_cast<std::size_t>(task)];
      if (thread < 0 || thread >= pool.size()) in_range = false;
    });
    for (auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_TRUE(in_range);
  }
}

TEST_P(ThreadPoolTest, NoTasksCallNothing) {
  ThreadPool pool(GetParam());
  int calls = 0;
  pool.Run(0, [&](std::int64_t, int) { ++calls; });
  pool.Run(-5, [&](std::int64_t, int) { ++calls; });
  EXPECT_EQ(calls, 0);
}

// A thread's number is its own: per-thread scratch indexed by it needs no lock.
TEST_P(ThreadPoolTest, ThreadNumbersAreExclusive) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> inside(static_cast<std::size_t>(pool.size()));
  std::vector<std::int64_t> scratch(static_cast<std::size_t>(pool.size()));  // not atomic: TSan watches it
  std::atomic<bool> shared{false};
  pool.Run(500, [&](std::int64_t, int thread) {
    const auto t = static_cast<std::size_t>(thread);
    if (inside[t].fetch_add(1) != 0) shared = true;
    ++scratch[t];
    inside[t].fetch_sub(1);
  });
  EXPECT_FALSE(shared);
  std::int64_t total = 0;
  for (std::int64_t count : scratch) total += count;
  EXPECT_EQ(total, 500);
}

// What a task wrote without a lock is the caller's to read when Run returns, and a caller's writes are a
// task's to read.
TEST_P(ThreadPoolTest, ManyRunsSeeEachOthersWrites) {
  ThreadPool pool(GetParam());
  std::vector<std::int64_t> values(16);
  for (std::int64_t run = 0; run < 2000; ++run) {
    pool.Run(16, [&](std::int64_t task, int) { values[static_cast<std::size_t>(task)] += run; });
    if (run % 500 == 0) {
      EXPECT_THAT(values, Each(run * (run + 1) / 2));
    }
  }
  EXPECT_THAT(values, Each(std::int64_t{1999 * 2000 / 2}));
}

TEST_P(ThreadPoolTest, RethrowsTheLowestFailedTask) {
  ThreadPool pool(GetParam());
  for (int repeat = 0; repeat < 50; ++repeat) {
    EXPECT_THAT(
        [&] {
          pool.Run(100, [&](std::int64_t task, int) { throw std::runtime_error(std::to_string(task)); });
        },
        ThrowsMessage<std::runtime_error>("0"));
  }
}

TEST_P(ThreadPoolTest, ClaimsNoFurtherTaskAfterAFailure) {
  ThreadPool pool(GetParam());
  std::atomic<std::int64_t> ran{0};
  EXPECT_THROW(pool.Run(1'000'000,
                        [&](std::int64_t task, int) {
                          ++ran;
                          if (task == 10) throw std::runtime_error("ten");
                        }),
               std::runtime_error);
  EXPECT_LT(ran, 1'000'000);
}

TEST_P(ThreadPoolTest, WorksOnAfterAFailure) {
  ThreadPool pool(GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(pool.Run(3, [](std::int64_t, int) { throw std::runtime_error("no"); }), std::runtime_error);
    std::atomic<int> ran{0};
    pool.Run(30, [&](std::int64_t, int) { ++ran; });
    EXPECT_EQ(ran, 30);
  }
}

TEST_P(ThreadPoolTest, RunInsideABodyIsABrokenInvariant) {
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.Run(1, [&](std::int64_t, int) { pool.Run(1, [](std::int64_t, int) {}); }),
               std::logic_error);
  std::atomic<int> ran{0};
  pool.Run(5, [&](std::int64_t, int) { ++ran; });
  EXPECT_EQ(ran, 5);
}

TEST(ThreadPool, ALaterTaskThatFailsFirstIsNotTheOneReported) {
  ThreadPool pool(2);
  std::atomic<bool> second_threw{false};
  EXPECT_THAT(
      [&] {
        pool.Run(2, [&](std::int64_t task, int) {
          if (task == 1) {
            second_threw = true;
            throw std::runtime_error("1");
          }
          while (!second_threw) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          throw std::runtime_error("0");
        });
      },
      ThrowsMessage<std::runtime_error>("0"));
}

TEST(ThreadPool, ThreadsRunAtTheSameTime) {
  ThreadPool pool(3);
  std::atomic<int> arrived{0};
  pool.Run(3, [&](std::int64_t, int) {  // ends only when all three are inside at once
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(ThreadPool, ThePoolOfOneRunsOnTheCaller) {
  ThreadPool pool(1);
  std::set<std::thread::id> ids;
  std::vector<std::int64_t> order;
  pool.Run(5, [&](std::int64_t task, int) {
    ids.insert(std::this_thread::get_id());
    order.push_back(task);
  });
  EXPECT_THAT(ids, ::testing::ElementsAre(std::this_thread::get_id()));
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(ThreadPool, IdleWorkersUseNoTime) {
  ThreadPool pool(4);
  pool.Run(4, [](std::int64_t, int) {});
  const std::clock_t before = std::clock();  // of the whole process, workers included
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes
TEST(ThreadPool, TooManyThreadsAreAnError) {
  EXPECT_EXIT(RunWithFewThreads([] { ThreadPool pool(1000); }), ::testing::ExitedWithCode(2),
              "cannot start one more thread: .*--threads");
}
#endif

TEST(ThreadPool, NeedsAThread) {
  EXPECT_THROW(ThreadPool pool(0), std::logic_error);
  EXPECT_THROW(ThreadPool pool(-1), std::logic_error);
}

}  // namespace
}  // namespace hotrow
