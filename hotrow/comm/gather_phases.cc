#include "hotrow/comm/gather_phases.h"

#include "hotrow/comm/reduce.h"

namespace hotrow {

PhaseTimes MeanOverRanks(Communicator& comm, const PhaseTimes& mine) {
  PhaseTimes mean;
  for (int p = 0; p < kPhases; ++p) {
    const auto phase = static_cast<Phase>(p);
    mean.Add(phase, AllReduceSum(comm, mine.seconds(phase)) / comm.size());
    mean.AddOverlapped(phase, AllReduceSum(comm, mine.overlapped(phase)) / comm.size());
  }
  return mean;
}

PhaseBytes SumOverRanks(Communicator& comm, const PhaseBytes& mine) {
  PhaseBytes sum;
  for (int p = 0; p < kPhases; ++p) {
    const auto phase = static_cast<Phase>(p);
    sum.Add(phase, AllReduceSum(comm, mine.bytes(phase)));
  }
  return sum;
}

}  // namespace hotrow
