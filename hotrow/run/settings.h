#pragma once
// The one table of settings. The flags of every command, the keys of a configuration file, their help,
// defaults and valid values, what a run does not read, and what all processes of a run must agree on: all of
// it comes from here.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/run/setting.h"

namespace hotrow {

/// In the order in which help lists them. Names are unique within a command.
std::span<const Setting> AllSettings();
std::vector<const Setting*> SettingsOf(RunCommand command);

/// By its name or, of a bool, that of its negation. Null: none of `commands` has it.
const Setting* FindSetting(RunCommands commands, std::string_view name);

/// Names of the settings, and negations, of a command in alphabetical order, but for `config`: what a file
/// may set.
std::vector<std::string> KeysOf(RunCommand command);

/// A run of which nothing was said.
RunConfig DefaultConfig(RunCommand command);

/// "plan make": the words that choose a command.
std::string_view CommandName(RunCommand command);
/// All commands that have settings.
std::span<const RunCommand> AllCommands();

}  // namespace hotrow
