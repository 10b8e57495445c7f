#pragma once
// A schema out of a TOML file that is parsed already. To be included by .cc files alone: the parser's header
// is large.

#include <toml++/toml.h>

#include <string>

#include "hotrow/data/csv_schema.h"

namespace hotrow {

/// The schema of the file's [data] table. Throws as LoadCsvSchema does; `path` names the file.
CsvSchema ReadCsvSchema(const std::string& path, const toml::table& file);

}  // namespace hotrow
