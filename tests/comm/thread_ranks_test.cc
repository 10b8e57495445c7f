#include "hotrow/comm/thread_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "conformance.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/comm/share.h"
#include "hotrow/trace/phase.h"
#include "tests/comm/plain_exchanges.h"
#include "tests/support/few_threads.h"

namespace hotrow {
namespace {

using testing::HasSubstr;

class ThreadConformance : public testing::TestWithParam<int> {};

TEST_P(ThreadConformance, EveryCase) {
  for (const ConformanceCase& conformance : ConformanceCases()) {
    SCOPED_TRACE(conformance.name);
    EXPECT_NO_THROW(RunThreadRanks(GetParam(), conformance.run, {.timeout_seconds = 120}));
  }
}

#ifdef __SANITIZE_THREAD__  // 32 ranks take long and do nothing that 8 do not
INSTANTIATE_TEST_SUITE_P(Ranks, ThreadConformance, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, ThreadConformance, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 32));
#endif

// Runs body on ranks; what it throws, as text. Fails when that takes long.
std::string Failure(int ranks, FunctionRef<void(Communicator&)> body, double timeout_seconds = 0) {
  const double begin = NowSeconds();
  std::string message = "(nothing)";
  try {
    RunThreadRanks(ranks, body, {.timeout_seconds = timeout_seconds});
  } catch (const std::exception& error) {
    message = error.what();
  }
  EXPECT_LT(NowSeconds() - begin, 10.0);
  return message;
}

TEST(ThreadRanks, EveryRankRunsOnceWithItsNumber) {
  std::mutex mutex;
  std::vector<int> seen;
  RunThreadRanks(5, [&](Communicator& comm) {
    EXPECT_EQ(comm.size(), 5);
    EXPECT_TRUE(comm.shares_memory());
    const std::lock_guard lock(mutex);
    seen.push_back(comm.rank());
  });
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2, 3, 4));
}

TEST(ThreadRanks, AFailureBetweenCollectivesStopsAllRanks) {
  for (int ranks : {2, 3, 8, 32}) {
    for (int failing : {0, ranks - 1}) {
      std::atomic<int> aborted{0};
      const std::string message = Failure(ranks, [&](Communicator& comm) {
        try {
          for (int step = 0;; ++step) {
            AllReduceSum<double>(comm, 1.0);
            if (step == 3 && comm.rank() == failing) Fail("rank {} found a bad id", failing);
          }
        } catch (const Aborted&) {
          ++aborted;
          throw;
        }
      });
      EXPECT_EQ(message, "rank " + std::to_string(failing) + " found a bad id");
      EXPECT_EQ(aborted, ranks - 1);
    }
  }
}

// What a rank sends is on its stack and is overwritten when it fails: peers must be out of it by then.
TEST(ThreadRanks, AFailureWithAnExchangeInFlightStopsAllRanks) {
  for (int round = 0; round < 20; ++round) {
    const std::string message = Failure(4, [&](Communicator& comm) {
      std::vector<std::uint64_t> received(40000);
      const std::vector<std::uint64_t> send(40000, 7);
      const Request request = StartAllToAll<std::uint64_t>(comm, send, received);
      if (comm.rank() == round % 4) throw std::runtime_error("gone");
    });
    EXPECT_EQ(message, "gone");
  }
}

TEST(ThreadRanks, AFailureWhileOthersReadSharedMemoryStopsAllRanks) {
  for (int round = 0; round < 20; ++round) {
    const std::string message = Failure(4, [&](Communicator& comm) {
      std::vector<std::int64_t> outer(10, comm.rank());
      Share<std::int64_t> outer_share(comm, outer);
      std::vector<std::int64_t> mine(20000, comm.rank());
      if (round % 2 == 0 && comm.rank() == 1) throw std::runtime_error("gone");
      const Share<std::int64_t> share(comm, mine);
      if (comm.rank() == 1) throw std::runtime_error("gone");
      for (int r = 0; r < 4; ++r) {
        for (std::int64_t value : share.spans()[static_cast<std::size_t>(r)]) EXPECT_EQ(value, r);
      }
    });
    EXPECT_EQ(message, "gone");
  }
}

TEST(ThreadRanks, TheFirstOfSeveralFailuresIsReported) {
  const std::string message = Failure(4, [](Communicator& comm) {
    std::this_thread::sleep_for(std::chrono::milliseconds(comm.rank() == 2 ? 0 : 300));
    throw std::runtime_error("rank " + std::to_string(comm.rank()));
  });
  EXPECT_EQ(message, "rank 2");
}

TEST(ThreadRanks, TheTypeOfTheFailureIsKept) {
  EXPECT_THROW(RunThreadRanks(3,
                              [](Communicator& comm) {
                                CheckAgreement(
                                    comm,
                                    std::as_bytes(std::span("abc", static_cast<std::size_t>(comm.rank()))),
                                    "letters");
                              }),
               Error);
}

TEST(ThreadRanks, ARankThatReturnsEarlyIsAFailureNotAHang) {
  const std::string message = Failure(3, [](Communicator& comm) {
    if (comm.rank() != 1) comm.Barrier();
  });
  EXPECT_THAT(message, HasSubstr("rank 1 has returned while rank"));
}

TEST(ThreadRanks, ARankThatCallsSomethingElseIsAFailure) {
  const std::string message = Failure(2, [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.Barrier();
    } else {
      AllGather(comm, 1);
    }
  });
  EXPECT_THAT(message, HasSubstr("ranks disagree on their next exchange"));
}

TEST(ThreadRanks, SizesThatDisagreeAreAFailure) {
  const std::string message = Failure(2, [](Communicator& comm) {
    std::vector<char> data(static_cast<std::size_t>(2 + comm.rank()));
    Broadcast<char>(comm, data);
  });
  EXPECT_EQ(message, "rank 0 sends 2 bytes to rank 1, which expects 3");
}

TEST(ThreadRanks, ATimeoutNamesTheRanksThatAreMissing) {
  const std::string message = Failure(
      3,
      [](Communicator& comm) {
        if (comm.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(500));
        comm.Barrier();
      },
      0.05);
  EXPECT_THAT(message, HasSubstr("s in barrier; ranks that have not come: 2"));
}

TEST(ThreadRanks, ASwallowedFailureStillEndsTheWorld) {
  const std::string message = Failure(2, [](Communicator& comm) {
    std::vector<int> data(2);
    try {
      const Request request = StartAllToAll<int>(comm, data, data);
      if (comm.rank() == 0) throw std::runtime_error("swallowed");
    } catch (const std::runtime_error&) {
    }
    comm.Barrier();
  });
  EXPECT_EQ(message, "rank 0 gave up an exchange and went on");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes
TEST(ThreadRanks, MoreRanksThanTheSystemHasThreadsForAreAnError) {
  const auto wait = [](Communicator& comm) { comm.Barrier(); };
  EXPECT_EXIT(RunWithFewThreads([&] { RunThreadRanks(1000, wait); }), ::testing::ExitedWithCode(2),
              "cannot start one more thread: .*--ranks");
}
#endif

}  // namespace
}  // namespace hotrow
