#pragma once
// What was said of a run, on a command line and in a configuration file, read into a RunConfig.
//
// A configuration file is TOML. Keys of its tables are names of settings, "batch-size" or "batch_size"; the
// tables [model] and those with a command's name ([train], [plan] and [make]) only group them, and top-level
// keys count too. [data] is a schema (data/csv_schema.h), [[tables]] says what is one table's alone
// (table_overrides.h). One file may serve several commands: passed over
// are the tables of others, [model] where the command makes no model, and keys that only others have.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/run/settings.h"

namespace hotrow {

/// A flag of the command line: the setting's name and the words it was given.
struct GivenFlag {
  std::string name;
  std::vector<std::string> words;
};

struct RunSettings {
  RunCommand command = kTrain;
  RunConfig config;
  std::set<std::string, std::less<>> given;  ///< names of settings that flags said
  std::set<std::string, std::less<>> said;   ///< those and the file's
};

/// Defaults, then the file that --config names, then the flags; and the schema, where the command reads one.
/// A file is parsed once. Throws Error naming the flag, or file, line and key, and what is valid, for a value
/// that is not; a table or key that no command has; a key given twice, in whatever spelling or table.
RunSettings ReadSettings(RunCommand command, const std::vector<GivenFlag>& flags);

/// The format of the run's data: what was said, else csv where there is a schema; else criteo, or, for
/// commands that have use for tables without samples, synthetic.
DataFormat FormatOf(RunCommand command, const DataConfig& data);

/// Throws Error for the first setting that a flag gave and that this run of its command does not read, saying
/// which do. What the file gave is passed over: it serves runs of many kinds.
void RefuseUnread(const RunSettings& settings);

/// A collective. Throws Error unless all ranks run this command, or were asked this (--help, --version), and
/// of the same version. The first collective of every rank that has read its command line, whatever that
/// says.
void CheckSameCommand(std::string_view command, Communicator& comm);

/// CheckSameCommand; then throws Error that names the setting, unless all ranks have the same values of all
/// but those that each may choose for itself (--threads, --quiet, --json, --config).
void CheckSameSettings(const RunSettings& settings, Communicator& comm);

}  // namespace hotrow
