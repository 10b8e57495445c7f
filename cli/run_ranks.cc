#include "cli/run_ranks.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "cli/app.h"
#include "hotrow/base/error.h"
#include "hotrow/base/system.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/comm/thread_ranks.h"

namespace hotrow::cli {
namespace {

// How long a process that has nothing to say waits for the first to say it: a launcher ends the others when
// one has ended with a failure.
constexpr auto kWordOfTheFirst = std::chrono::seconds(5);

}  // namespace

std::optional<Launch> LaunchOfThisProcess() {
  const auto launch = DetectLaunch([](const char* name) -> const char* { return std::getenv(name); });
  return launch && launch->size > 1 ? launch : std::nullopt;
}

int RunProcesses(const Launch& launch, FunctionRef<int(MpiSession&)> body) {
  try {
    std::optional<MpiSession> session(std::in_place);
    if (const int joined = session->world().size(); joined != launch.size) {
      session.reset();  // this world is whole, and ends as it should
      Fail("{} started {} processes and MPI joined {}; under Slurm: srun --mpi=pmix, or mpirun",
           launch.launcher, launch.size, joined);
    }
    return session->Run([&](Communicator&) { return body(*session); },
                        [](std::exception_ptr failure) { return ReportFailure(failure); });
  } catch (...) {
    if (launch.rank == 0) return ReportFailure(std::current_exception());
    std::this_thread::sleep_for(kWordOfTheFirst);
    return kUsersMistake;
  }
}

bool WritesResults(MpiSession* processes) { return processes == nullptr || processes->world().rank() == 0; }

int RunRanks(MpiSession* processes, std::int64_t ranks,
             FunctionRef<int(Communicator&, const RanksOfHost&)> body) {
  if (processes != nullptr) {
    Communicator& world = processes->world();
    if (ranks != 1 && ranks != world.size()) {
      Fail("--ranks {}: the launcher started {} processes, each of them a rank; leave the flag out", ranks,
           world.size());
    }
    return body(world, {processes->local_size(), "mpi"});
  }
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
