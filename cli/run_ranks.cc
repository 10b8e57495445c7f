#include "cli/run_ranks.h"

#include <cstdlib>
#include <exception>

#include "cli/app.h"
#include "hotrow/base/error.h"
#include "hotrow/base/system.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/comm/thread_ranks.h"

namespace hotrow::cli {
namespace {

int RunMpiRanks(const Launch& launch, std::int64_t ranks,
                FunctionRef<int(Communicator&, const RanksOfHost&)> body) {
  MpiSession session;
  const RanksOfHost host{session.local_size(), "mpi"};
  const auto run = [&](Communicator& world) {
    if (ranks != 1 && ranks != world.size()) {
      Fail("--ranks {}: {} started {} processes, each of them a rank; leave the flag out", ranks,
           launch.launcher, world.size());
    }
    return body(world, host);
  };
  return session.Run(run, [](std::exception_ptr failure) { return ReportFailure(failure); });
}

}  // namespace

std::optional<Launch> LaunchOfThisProcess() {
  return DetectLaunch([](const char* name) -> const char* { return std::getenv(name); });
}

int RunRanks(std::int64_t ranks, FunctionRef<int(Communicator&, const RanksOfHost&)> body) {
  if (const auto launch = LaunchOfThisProcess()) return RunMpiRanks(*launch, ranks, body);
  const RanksOfHost host{static_cast<int>(ranks), "threads"};
  int code = kDone;
  RunThreadRanks(static_cast<int>(ranks), [&](Communicator& world) {
    const int mine = body(world, host);
    if (world.rank() == 0) code = mine;
  });
  return code;
}

int ProcessThreads(Communicator& comm, int threads) {
  return comm.shares_memory() ? static_cast<int>(AllReduceSum<std::int64_t>(comm, threads)) : threads;
}

std::int64_t PeakRss(Communicator& comm) {
  const std::int64_t here = PeakResidentBytes();
  return comm.shares_memory() ? here : AllReduceSum(comm, here);
}

}  // namespace hotrow::cli
