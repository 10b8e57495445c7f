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

/// Calls body(communicator) on `ranks` >= 1 threads, one for each rank, and returns when all have returned.
/// Rank 0 runs on the caller's thread. When a rank throws, the collectives of the other ranks throw Aborted.
/// Once all have ended, the first failure is rethrown here. An Error of a thread that the system would not
/// start is rethrown too; some ranks' bodies are then never called. A rank that waits sleeps and never spins.
void RunThreadRanks(int ranks, FunctionRef<void(Communicator&)> body, const ThreadRanksOptions& options = {});

/// A world of one rank, for those who have no others: every collective returns at once.
std::unique_ptr<Communicator> MakeSoleRank();

}  // namespace hotrow
