#pragma once
// Whether all ranks were told the same.

#include "hotrow/comm/communicator.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

/// A collective. Throws Error that names the flag, unless all ranks run this command with the same values of
/// all flags but those that each may choose for itself (--threads, --quiet, --json, --config). After parsing.
void CheckSameFlags(const CLI::App& command, Communicator& comm);

}  // namespace hotrow::cli
