#pragma once
// TOML files. To be included by .cc files alone: the parser's header is large.

#include <toml++/toml.h>

#include <string>

namespace hotrow {

/// Throws Error naming the flag (or what else asked for the file) and the path; or path, line and column.
toml::table ParseTomlFile(const std::string& flag, const std::string& path);

/// The words of a value as they would stand on the command line; an array gives a comma-separated list.
/// `where` begins the message of the Error for what is no value of a flag.
std::string TomlWords(const toml::node& node, const std::string& where);

}  // namespace hotrow
