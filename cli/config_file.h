#pragma once
// --config FILE: a TOML file whose values stand in for flags that were not given on the command line.

#include <string>

namespace CLI {
class App;
}

namespace hotrow::cli {

/// Keys of the file's tables, apart from [data] (a schema, read by the data sources), are the command's long
/// flags without the dashes, "batch-size" or "batch_size"; the tables [model] and those with the command's
/// names ([train], …) only group them; top-level keys count too. An array gives a comma-separated list. Flags
/// given on the command line win. One file may serve several commands: passed over are the tables of others,
/// [model] where the command makes no model, and keys that only others have. Throws Error naming file, line
/// and key, and what is valid, for a table or key that no command has, a key given twice (in whatever
/// spelling or table), and a value of the wrong type.
void ApplyConfigFile(CLI::App& command, const std::string& path);

/// Whether the file has a [data] table: it is a schema too.
bool ConfigHasData(const std::string& path);

}  // namespace hotrow::cli
