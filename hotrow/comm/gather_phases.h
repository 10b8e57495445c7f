#pragma once
// What the phases of a step took and moved, over all ranks.

#include "hotrow/comm/communicator.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/phase_bytes.h"

namespace hotrow {

/// Collectives: the mean of every rank's times, and the sum of every rank's bytes, on every rank.
PhaseTimes MeanOverRanks(Communicator& comm, const PhaseTimes& mine);
PhaseBytes SumOverRanks(Communicator& comm, const PhaseBytes& mine);

}  // namespace hotrow
