#pragma once
// A command's ranks: threads of this process, or the processes that an MPI launcher has started.

#include <cstdint>
#include <optional>
#include <string>

#include "hotrow/base/function_ref.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/comm/mpi_session.h"
#include "hotrow/run/world.h"

namespace hotrow::cli {

/// What an MPI launcher has said about this process, if it has started more than this one: a world of one is
/// an ordinary process.
std::optional<Launch> LaunchOfThisProcess();

/// Joins the processes of a launcher, calls body in each and returns rank 0's exit code. From here on
/// whatever a process throws is reported once, and ends all with its code. Processes that MPI cannot join (a
/// launcher that speaks another protocol) all fail, and the first of them says why. Where MPI does not start,
/// each that is still there after a while says so: it may be the only one.
int RunProcesses(const Launch& launch, FunctionRef<int(MpiSession&)> body);

/// Whether this process is the one that prints and writes files: rank 0's, or the only one.
bool WritesResults(MpiSession* processes);

/// Calls body on every rank and returns rank 0's exit code. Where there are processes of a launcher they are
/// the world, and `ranks` must be 1 (not given) or their number; else it is `ranks` threads, and what one of
/// them throws stops all and is rethrown here.
int RunRanks(MpiSession* processes, std::int64_t ranks,
             FunctionRef<int(Communicator&, const RanksOfHost&)> body);

}  // namespace hotrow::cli
