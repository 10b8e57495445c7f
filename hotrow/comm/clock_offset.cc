#include "hotrow/comm/clock_offset.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/comm/collectives.h"

namespace hotrow {
namespace {

constexpr int kRoundTrips = 16;

// One value from rank `from` to rank `to`; the other ranks take part with nothing.
std::int64_t Pass(Communicator& comm, int from, int to, std::int64_t value) {
  std::int64_t received = 0;
  Parts<std::int64_t> parts(comm);
  if (comm.rank() == from) parts.Send(to, std::span<const std::int64_t>(&value, 1));
  if (comm.rank() == to) parts.Receive(from, std::span<std::int64_t>(&received, 1));
  parts.Start(comm).Wait();
  return received;
}

}  // namespace

ClockOffset MeasureClockOffset(Communicator& comm, FunctionRef<std::int64_t()> clock) {
  std::vector<ClockOffset> offsets(Index(comm.size()));
  for (int peer = 1; peer < comm.size(); ++peer) {
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (int round = 0; round < kRoundTrips; ++round) {
      const std::int64_t asked = comm.rank() == 0 ? clock() : 0;
      Pass(comm, 0, peer, asked);
      const std::int64_t theirs = Pass(comm, peer, 0, comm.rank() == peer ? clock() : 0);
      if (comm.rank() != 0) continue;
      const std::int64_t trip = clock() - asked;
      if (trip >= shortest) continue;
      shortest = trip;
      offsets[Index(peer)] = {asked + trip / 2 - theirs, (trip + 1) / 2};
    }
  }
  Broadcast<ClockOffset>(comm, offsets);
  return offsets[Index(comm.rank())];
}

}  // namespace hotrow
