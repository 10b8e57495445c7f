#pragma once
// One file of all ranks' traces.

#include <string>

#include "hotrow/comm/communicator.h"
#include "hotrow/trace/tracer.h"

namespace hotrow {

/// A collective: brings every rank's events to rank 0, which writes directory/trace.json (and makes the
/// directory), times on rank 0's clock. Throws there when it cannot write (files/new_file.h).
void WriteTrace(Communicator& comm, const Tracer& tracer, const std::string& directory);

}  // namespace hotrow
