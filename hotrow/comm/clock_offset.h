#pragma once
// How far another host's clock is from rank 0's.

#include <cstdint>

#include "hotrow/base/function_ref.h"
#include "hotrow/comm/communicator.h"

namespace hotrow {

struct ClockOffset {
  std::int64_t offset_ns = 0;  ///< add it to this rank's clock to read rank 0's
  std::int64_t error_ns = 0;   ///< by how much that may be wrong: half the shortest round trip
};

/// A collective: rank 0 asks each rank in turn for its time, again and again, and believes the answer that
/// came back soonest, taken to lie in the middle of its round trip. clock() is in nanoseconds. Zero on rank
/// 0. About 16 round trips for each rank.
ClockOffset MeasureClockOffset(Communicator& comm, FunctionRef<std::int64_t()> clock);

}  // namespace hotrow
