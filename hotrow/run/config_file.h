#pragma once
// A configuration file's values put into a run. To be included by .cc files alone: the parser's header is
// large.

#include <toml++/toml.h>

#include <string>

#include "hotrow/run/run_settings.h"

namespace hotrow {

/// Sets what the file says and no flag did; see run_settings.h for its form and what it throws.
void ApplyConfigFile(const std::string& path, const toml::table& file, RunSettings& settings);

}  // namespace hotrow
