#pragma once
// Traces as a file for Perfetto (ui.perfetto.dev) or chrome://tracing: every rank a process, every thread a
// row, all on one clock.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/trace/tracer.h"

namespace hotrow {

/// One rank's part of a trace.
struct RankTrace {
  int rank = 0;
  std::string host;
  std::int64_t clock_offset_ns = 0;  ///< what to add to its times to have them on the common clock
  std::int64_t clock_error_ns = 0;   ///< by how much that may be wrong
  std::int64_t dropped = 0;          ///< events that were not kept
  std::vector<TraceEvent> events;
};

/// A trace as bytes, for a rank of the same build. ParseTrace throws Error for anything else.
std::string SerializeTrace(const RankTrace& trace);
RankTrace ParseTrace(std::string_view bytes);

/// Writes `path` whole or not at all, in the JSON Trace Event Format. A span is a complete event ("X"), a
/// count is a counter event ("C"). Times are microseconds since the first event of all. Throws Error naming
/// the path when it cannot be written.
void WriteChromeTrace(const std::string& path, std::span<const RankTrace> ranks);

}  // namespace hotrow
