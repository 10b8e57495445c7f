#pragma once
// Flags that say which data a command reads.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/unread_flags.h"
#include "hotrow/data/open_source.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

struct DataFlags {
  std::vector<std::string> data;
  std::string format;  ///< empty: csv where there is a schema, else criteo
  std::string schema;  ///< empty: the --config file where it has [data]
  std::string cardinality = "tiny";
  std::int64_t max_rows = 0;
};

/// A flag that lists files: `paths` are those that it names (files/path_list.h).
void AddPathsFlag(CLI::App& app, const std::string& flag, const std::string& description,
                  std::vector<std::string>& paths);

/// --data, --format, --schema, and the table sizes that criteo needs.
void AddDataFlags(CLI::App& app, DataFlags& flags);

/// Throws Error for one of these flags that the command line gives and the data's format does not read.
void RefuseUnread(const DataSpec& spec, const GivenFlags& given);

/// The spec of the training files. Throws Error where flags are missing or contradict each other.
DataSpec MakeDataSpec(const DataFlags& flags, const CommonFlags& common);

}  // namespace hotrow::cli
