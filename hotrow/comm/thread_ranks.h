#pragma once
// Ranks as threads of this process.

#include <memory>

#include "hotrow/base/function_ref.h"
#include "hotrow/comm/communicator.h"

namespace hotrow {

struct ThreadRanksOptions {
  /// A rank that waits longer than this for others fails; 0: never. For tests: a slow rank is no failure.
  double timeout_seconds = 0;
};

/// Calls body(communicator) on `ranks` >= 1 threads, one a rank (rank 0 on the caller's own), and returns
/// when all have returned. When a rank throws, the other ranks' collectives throw Aborted, and once all are
/// gone the first failure is rethrown here; so is the Error of a thread that the system would not start, and
/// then not every rank's body is called. Ranks that wait sleep; none spins.
void RunThreadRanks(int ranks, FunctionRef<void(Communicator&)> body, const ThreadRanksOptions& options = {});

/// A world of one rank, for those who have no others: every collective returns at once.
std::unique_ptr<Communicator> MakeSoleRank();

}  // namespace hotrow
