#include "cli/config_file.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <vector>

#include "cli/toml_file.h"
#include "hotrow/base/error.h"

namespace hotrow::cli {
namespace {

std::string ValidKeys(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name != "help" && name != "config") names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void ApplyKey(CLI::App& command, std::string key, const toml::node& value, const std::string& path) {
  const std::string where = fmt::format("{}:{}: {}", path, value.source().begin.line, key);
  std::replace(key.begin(), key.end(), '_', '-');
  CLI::Option* option = command.get_option_no_throw("--" + key);
  if (option == nullptr || key == "help" || key == "config") {
    Fail("{}: unknown key, valid: {}", where, ValidKeys(command));
  }
  if (option->count() > 0) return;  // the command line wins
  try {
    option->add_result(TomlWords(value, where));
    option->run_callback();
  } catch (const CLI::Error& e) {
    Fail("{}: {}", where, e.what());
  }
}

}  // namespace

void ApplyConfigFile(CLI::App& command, const std::string& path) {
  const toml::table root = ParseTomlFile("--config", path);
  for (const auto& [key, node] : root) {
    if (key.str() == "data" && node.is_table()) continue;
    if (const toml::table* section = node.as_table()) {
      for (const auto& [inner, value] : *section) ApplyKey(command, std::string(inner.str()), value, path);
    } else {
      ApplyKey(command, std::string(key.str()), node, path);
    }
  }
}

bool ConfigHasData(const std::string& path) { return ParseTomlFile("--config", path)["data"].is_table(); }

}  // namespace hotrow::cli
