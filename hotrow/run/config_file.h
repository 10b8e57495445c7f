#pragma once
// A configuration file's values put into a run. To be included by .cc files alone: the parser's header is
// large.

#include <toml++/toml.h>

#include <string>

#include "hotrow/run/run_settings.h"

namespace hotrow {

/// Sets what the file says and no flag did; see run_settings.h for its form and what it throws.
void ApplyConfigFile(const std::string& path, const toml::table& file, RunSettings& settings);

/// What the [[tables]] of a configuration file, and the [[data.sparse]] of a schema, say of tables
/// (table_overrides.h). Throws Error naming file, line and key.
void ReadTables(const std::string& path, const toml::table& file, RunConfig& config);
void ReadTablesOfFeatures(const std::string& path, const toml::table& schema, RunConfig& config);

}  // namespace hotrow
