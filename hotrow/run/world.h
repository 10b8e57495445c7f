#pragma once
// What a run must know of the ranks and the host it runs on.

#include <cstdint>
#include <string>

#include "hotrow/comm/communicator.h"
#include "hotrow/run/run_config.h"

namespace hotrow {

struct RanksOfHost {
  int count = 1;          ///< ranks on this rank's host
  std::string transport;  ///< "threads" or "mpi"
};

/// Plain facts, so that what is made of a run can be known without one.
struct World {
  std::int64_t ranks = 1;
  std::int64_t ranks_here = 1;  ///< on this host
  bool one_process = true;      ///< ranks are its threads
  std::int64_t memory = 0;      ///< bytes that can be had here
};

World WorldOf(const Communicator& comm, const RanksOfHost& host);

/// Compute threads of this process.
int ThreadsOfProcess(const CommonConfig& common);

/// Compute threads of this rank: its share of the process's among thread ranks, at least one; of an MPI
/// process, all that were asked for, or the cores over the ranks of the host.
int ThreadsOfRank(const CommonConfig& common, const Communicator& comm, const RanksOfHost& host);

}  // namespace hotrow
