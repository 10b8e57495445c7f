#pragma once
// What a process has, where its ranks are threads of it or it is one rank of many. Collectives, both.

#include <cstdint>

#include "hotrow/comm/communicator.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/machine/system.h"

namespace hotrow {

/// Compute threads of this process, of which this rank has `threads`: of all its thread ranks together.
inline std::int64_t ProcessThreads(Communicator& comm, std::int64_t threads) {
  return comm.shares_memory() ? AllReduceSum(comm, threads) : threads;
}

/// Peak resident bytes of the process, or of all MPI processes together.
inline std::int64_t PeakRss(Communicator& comm) {
  const std::int64_t here = PeakResidentBytes();
  return comm.shares_memory() ? here : AllReduceSum(comm, here);
}

}  // namespace hotrow
