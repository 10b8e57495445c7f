#pragma once
// What the phases of a step took and moved over all ranks, and one file of all ranks' traces.

#include <string>

#include "hotrow/comm/communicator.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/tracer.h"

namespace hotrow {

/// Collectives: the mean of every rank's times, and the sum of every rank's bytes, on every rank.
PhaseTimes MeanOverRanks(Communicator& comm, const PhaseTimes& mine);
PhaseBytes SumOverRanks(Communicator& comm, const PhaseBytes& mine);

/// A collective: brings every rank's events to rank 0, which writes directory/trace.json (and makes the
/// directory), times on rank 0's clock. Throws there when it cannot write (files/new_file.h).
void WriteTrace(Communicator& comm, const Tracer& tracer, const std::string& directory);

}  // namespace hotrow
