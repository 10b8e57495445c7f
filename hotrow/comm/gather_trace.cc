#include "hotrow/comm/gather_trace.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/comm/clock_offset.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/trace/chrome_trace.h"

namespace hotrow {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown host";
}

}  // namespace

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

void WriteTrace(Communicator& comm, const Tracer& tracer, const std::string& directory) {
  // Threads of one process have one clock.
  const ClockOffset clock =
      comm.shares_memory() ? ClockOffset() : MeasureClockOffset(comm, [] { return TraceNow(); });
  const RankTrace mine{comm.rank(),    HostName(),       clock.offset_ns,
                       clock.error_ns, tracer.dropped(), tracer.events()};
  const auto gathered = GatherText(comm, SerializeTrace(mine));
  if (comm.rank() != 0) return;
  std::vector<RankTrace> traces;
  for (const std::string& bytes : gathered) traces.push_back(ParseTrace(bytes));
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) FailErrno(error.value(), "{}: cannot make this directory for the trace", directory);
  WriteChromeTrace(directory + "/trace.json", traces);
}

}  // namespace hotrow
