#include "hotrow/comm/thread_ranks.h"

#include <exception>
#include <thread>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/comm/thread_communicator.h"
#include "hotrow/comm/thread_exchange.h"
#include "hotrow/machine/start_thread.h"

namespace hotrow {
namespace {

using internal::ThreadCommunicator;
using internal::ThreadExchange;

void RunRank(ThreadExchange& exchange, int rank, FunctionRef<void(Communicator&)> body) {
  ThreadCommunicator communicator(exchange, rank);
  std::exception_ptr cause;
  bool failed = false;
  try {
    body(communicator);
  } catch (const Aborted&) {
    failed = true;
  } catch (...) {
    failed = true;
    cause = std::current_exception();
  }
  const ThreadExchange::Lock lock = exchange.Acquire();
  if (failed) exchange.Abort(rank, std::move(cause));
  exchange.Leave(rank);
}

// A base, so that it is there before the communicator is.
struct World {
  ThreadExchange exchange{1, 0};
};
class SoleRank final : private World, public ThreadCommunicator {
 public:
  SoleRank() : ThreadCommunicator(exchange, 0) {}
};

}  // namespace

std::unique_ptr<Communicator> MakeSoleRank() { return std::make_unique<SoleRank>(); }

void RunThreadRanks(int ranks, FunctionRef<void(Communicator&)> body, const ThreadRanksOptions& options) {
  HOTROW_CHECK(ranks >= 1);
  ThreadExchange exchange(ranks, options.timeout_seconds);
  std::vector<std::thread> threads;
  threads.reserve(Index(ranks - 1));
  try {
    for (int rank = 1; rank < ranks; ++rank) {
      threads.push_back(StartThread([&exchange, rank, body] { RunRank(exchange, rank, body); }));
    }
    RunRank(exchange, 0, body);
  } catch (...) {  // no more threads to be had
    const ThreadExchange::Lock lock = exchange.Acquire();
    exchange.Abort(0, std::current_exception());
  }
  for (std::thread& thread : threads) thread.join();
  exchange.RethrowCause();
}

}  // namespace hotrow
