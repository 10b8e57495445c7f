#include "hotrow/run/world.h"

#include <algorithm>

#include "hotrow/base/size.h"
#include "hotrow/machine/cores.h"
#include "hotrow/machine/system.h"

namespace hotrow {

World WorldOf(const Communicator& comm, const RanksOfHost& host) {
  return {.ranks = comm.size(),
          .ranks_here = host.count,
          .one_process = comm.shares_memory(),
          .memory = AvailableForReserved()};
}

int ThreadsOfProcess(const CommonConfig& common) {
  return common.threads > 0 ? static_cast<int>(common.threads) : AvailableCores();
}

int ThreadsOfRank(const CommonConfig& common, const Communicator& comm, const RanksOfHost& host) {
  const int threads = ThreadsOfProcess(common);
  if (comm.shares_memory()) {
    return static_cast<int>(std::max<std::int64_t>(1, EvenSlice(threads, comm.size(), comm.rank()).size()));
  }
  return common.threads > 0 ? threads : std::max(1, threads / host.count);
}

}  // namespace hotrow
