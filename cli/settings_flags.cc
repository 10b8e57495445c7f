#include "cli/settings_flags.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <variant>

#include "cli/cli11.h"

namespace hotrow::cli {
namespace {

// "INT in [0 - 1024]"; bounds that only keep sizes sane are not worth reading.
std::string TypeText(const Setting& setting) {
  constexpr double kWorthReading = 1e6;
  std::string text(TypeName(setting));
  if (setting.most > kWorthReading || !std::isfinite(setting.least)) return text;
  return fmt::format("{} in [{} - {}]", text, setting.least, setting.most);
}

void AddFlag(CLI::App& app, const Setting& setting, const std::string& otherwise) {
  std::string names = "--" + std::string(setting.name);
  if (!setting.negated.empty()) names += ",!--" + std::string(setting.negated);
  const std::string help(setting.help);
  CLI::Option* option = app.add_flag(names, help);
  // Twice, and so perhaps in contradiction, is as wrong as it is for a value.
  option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  if (!setting.negated.empty()) option->default_str(otherwise);
}

void AddOption(CLI::App& app, const Setting& setting, const std::string& otherwise) {
  std::string names = "--" + std::string(setting.name);
  if (setting.positional) names += "," + std::string(setting.name);
  CLI::Option* option = app.add_option(names);
  option->description(std::string(setting.help))->type_name(TypeText(setting));
  if (!otherwise.empty()) option->default_str(otherwise);
  if (IsList(setting)) {
    option->expected(1, CLI::detail::expected_max_vector_size);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
}

}  // namespace

void AddSettings(CLI::App& app, RunCommand command) {
  const RunConfig defaults = DefaultConfig(command);
  for (const Setting* setting : SettingsOf(command)) {
    const bool flag = std::holds_alternative<Field<bool>>(setting->at);
    (flag ? AddFlag : AddOption)(app, *setting, TextOf(*setting, defaults));
  }
}

RunSettings ReadCommandLine(const CLI::App& app, RunCommand command) {
  std::vector<GivenFlag> given;
  for (const Setting* setting : SettingsOf(command)) {
    const CLI::Option* option = app.get_option("--" + std::string(setting->name));
    if (option->count() > 0) given.push_back({std::string(setting->name), option->results()});
  }
  RunSettings settings = ReadSettings(command, given);
  RefuseUnread(settings);
  return settings;
}

}  // namespace hotrow::cli
