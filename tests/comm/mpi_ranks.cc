// What mpi_test.cc runs under mpirun, a process a rank:
//
//   hotrow_mpi_ranks conformance [MAX_MESSAGE_BYTES]   every case; prints "N cases" once
//   hotrow_mpi_ranks FAILURE                           fails as told; see kFailures

#include <fmt/core.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/mpi_session.h"
#include "hotrow/comm/reduce.h"
#include "tests/comm/plain_exchanges.h"

namespace hotrow {
namespace {

int Conformance(Communicator& comm) {
  const auto cases = ConformanceCases();
  for (const ConformanceCase& conformance : cases) {
    try {
      conformance.run(comm);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}: {}", conformance.name, error.what()));
    }
  }
  comm.Barrier();
  if (comm.rank() == 0) fmt::print("{} cases on {} ranks\n", cases.size(), comm.size());
  return 0;
}

void StepsFor(Communicator& comm, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) AllReduceSum<double>(comm, 1.0);
}

int OneThrows(Communicator& comm) {
  StepsFor(comm, 0.05 * comm.rank());
  if (comm.rank() == 1) Fail("rank 1 found a bad id");
  StepsFor(comm, 60);
  return 0;
}

// Buffers on the stack, of which some have not arrived when the rank fails.
int OneThrowsInFlight(Communicator& comm) {
  std::vector<std::uint64_t> received(300000 * static_cast<std::size_t>(comm.size()));
  const std::vector<std::uint64_t> send(received.size(), 7);
  const Request request = StartAllToAll<std::uint64_t>(comm, send, received);
  if (comm.rank() == comm.size() - 1) Fail("gone in flight");
  StepsFor(comm, 60);
  return 0;
}

int AllThrowTheSame(Communicator& comm) {
  comm.Barrier();
  Fail("--ranks: everyone sees this mistake");
}

int SizesDisagree(Communicator& comm) {
  std::vector<char> data(static_cast<std::size_t>(2 + comm.rank()));
  Broadcast<char>(comm, data);
  StepsFor(comm, 60);
  return 0;
}

int MoreThanExpected(Communicator& comm) {
  std::vector<char> data(static_cast<std::size_t>(3 - comm.rank()));
  Broadcast<char>(comm, data);
  StepsFor(comm, 60);
  return 0;
}

// Of equal sizes: each would take the other's bytes for what it waits for.
int OpsDisagree(Communicator& comm) {
  std::vector<std::int64_t> received(static_cast<std::size_t>(comm.size()));
  if (comm.rank() == 0) {
    AllGather(comm, std::int64_t{1});
  } else {
    AllToAll<std::int64_t>(comm, std::vector<std::int64_t>(received.size()), received);
  }
  return 0;
}

int OneIsKilled(Communicator& comm) {
  comm.Barrier();
  if (comm.rank() == 1) raise(SIGKILL);
  StepsFor(comm, 60);
  return 0;
}

int OneLeavesWithAnotherCode(Communicator& comm) {
  comm.Barrier();
  return comm.rank() == 0 ? 7 : 0;
}

struct Failure {
  std::string_view name;
  int (*body)(Communicator&);
};
constexpr std::array<Failure, 8> kFailures = {{{"throw", OneThrows},
                                               {"throw-in-flight", OneThrowsInFlight},
                                               {"all-throw", AllThrowTheSame},
                                               {"sizes-disagree", SizesDisagree},
                                               {"more-than-expected", MoreThanExpected},
                                               {"ops-disagree", OpsDisagree},
                                               {"kill", OneIsKilled},
                                               {"code", OneLeavesWithAnotherCode}}};

// As the command line does: a user's mistake is 2, anything else is 1.
int Report(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "failed: {}\n", error.what());
    return 1;
  }
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  MpiOptions options;
  if (argc > 2) options.max_message_bytes = std::atoll(argv[2]);
  MpiSession session(options);
  if (session.local_size() != session.world().size()) {
    fmt::print(stderr, "failed: all ranks are on this host\n");
    return 1;
  }
  int (*body)(Communicator&) = mode == "conformance" ? Conformance : nullptr;
  for (const Failure& failure : kFailures) {
    if (mode == failure.name) body = failure.body;
  }
  int (*report)(std::exception_ptr) = Report;
  return session.Run(body, report);
}

}  // namespace
}  // namespace hotrow

int main(int argc, char** argv) { return hotrow::Main(argc, argv); }
