#pragma once
// A command's ranks: threads of this process, or the processes that an MPI launcher has started.

#include <cstdint>
#include <optional>
#include <string>

#include "hotrow/base/function_ref.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/comm/mpi_session.h"

namespace hotrow::cli {

/// What an MPI launcher has said about this process, if one has started it.
std::optional<Launch> LaunchOfThisProcess();

struct RanksOfHost {
  int count = 1;          ///< ranks on this rank's host
  std::string transport;  ///< "threads" or "mpi"
};

/// Calls body on every rank and returns rank 0's exit code. Under an MPI launcher the world is its processes,
/// and `ranks` must be 1 (not given) or their number; else it is `ranks` threads. What a rank throws stops
/// all: with threads it is rethrown here, under MPI it is reported once and every process exits with its
/// code.
int RunRanks(std::int64_t ranks, FunctionRef<int(Communicator&, const RanksOfHost&)> body);

// Collectives.

/// Compute threads of this process: of all its thread ranks together.
int ProcessThreads(Communicator& comm, int threads);
/// Peak resident bytes of the process, or of all MPI processes together.
std::int64_t PeakRss(Communicator& comm);

}  // namespace hotrow::cli
