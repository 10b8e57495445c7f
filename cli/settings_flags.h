#pragma once
// Flags of a command, made of the table of settings.

#include <vector>

#include "hotrow/run/run_settings.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

/// Adds a flag for every setting that the command reads, with its help, default and valid range.
void AddSettings(CLI::App& app, RunCommand command);

/// What the parsed command line and the configuration file it may name say (run_settings.h). Throws Error for
/// what is not valid, and for flags that this run of the command would not read.
RunSettings ReadCommandLine(const CLI::App& app, RunCommand command);

}  // namespace hotrow::cli
