#pragma once
// Whether all ranks were told the same.

#include <string_view>

#include "hotrow/comm/communicator.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

/// A collective. Throws Error unless all ranks run this command, or were asked this (--help, --version), and
/// of the same version. The first collective of every rank that has read its command line, whatever that
/// says.
void CheckSameCommand(std::string_view command, Communicator& comm);

/// A collective. Throws Error that names the flag, unless all ranks run this command with the same values of
/// all flags but those that each may choose for itself (--threads, --quiet, --json, --config). After parsing.
void CheckSameFlags(const CLI::App& command, Communicator& comm);

}  // namespace hotrow::cli
