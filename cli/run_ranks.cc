#include "cli/run_ranks.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "cli/app.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/thread_ranks.h"

namespace hotrow::cli {
namespace {

// The first process says what all may have found. A launcher ends the others when one has ended with a
// failure.
void LeaveTheWordToTheFirst(const Launch& launch) {
  if (launch.rank != 0) std::this_thread::sleep_for(std::chrono::seconds(kSecondsToSpeak));
}

std::exception_ptr OthersNotJoined(const Launch& launch, int joined) {
  return std::make_exception_ptr(
      Error(fmt::format("{} started {} processes and MPI joined {}; under Slurm: srun --mpi=pmix, or mpirun",
                        launch.launcher, launch.size, joined)));
}

}  // namespace

std::optional<Launch> LaunchOfThisProcess() {
  const auto launch = DetectLaunch([](const char* name) -> const char* { return std::getenv(name); });
  return launch && launch->size > 1 ? launch : std::nullopt;
}

int RunProcesses(const Launch& launch, FunctionRef<int(MpiSession&)> body) {
  std::optional<MpiSession> session;
  try {
    session.emplace();
  } catch (...) {
    // Whoever is still there may be the only one that MPI failed, while the first waits for it.
    LeaveTheWordToTheFirst(launch);
    return ReportFailure(std::current_exception());
  }
  if (const int joined = session->world().size(); joined != launch.size) {
    session.reset();  // this world is whole, and ends as it should
    if (launch.rank == 0) return ReportFailure(OthersNotJoined(launch, joined));
    LeaveTheWordToTheFirst(launch);  // who has found the same
    return kUserError;
  }
  return session->Run([&](Communicator&) { return body(*session); },
                      [](std::exception_ptr failure) { return ReportFailure(failure); });
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

}  // namespace hotrow::cli
