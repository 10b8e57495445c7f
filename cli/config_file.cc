#include "cli/config_file.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <vector>

#include "hotrow/base/error.h"

namespace hotrow::cli {
namespace {

// The words of a value as they would stand on the command line.
std::string Words(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* array = node.as_array()) {
    std::string list;
    for (const auto& item : *array) {
      if (item.is_array()) Fail("{}: an array in an array is no value of a flag", where);
      list += (list.empty() ? "" : ",") + Words(item, where);
    }
    return list;
  }
  Fail("{}: not a string, number, boolean or array of them", where);
}

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
    option->add_result(Words(value, where));
    option->run_callback();
  } catch (const CLI::Error& e) {
    Fail("{}: {}", where, e.what());
  }
}

toml::table ParseFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) Fail("--config {}: is a directory", path);
  if (!std::filesystem::exists(path, ignored)) Fail("--config {}: no such file", path);
  if (!std::filesystem::is_regular_file(path, ignored)) Fail("--config {}: is not a file", path);
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    Fail("{}:{}:{}: {}", path, e.source().begin.line, e.source().begin.column, std::string(e.description()));
  }
}

}  // namespace

void ApplyConfigFile(CLI::App& command, const std::string& path) {
  const toml::table root = ParseFile(path);
  for (const auto& [key, node] : root) {
    if (key.str() == "data" && node.is_table()) continue;
    if (const toml::table* section = node.as_table()) {
      for (const auto& [inner, value] : *section) ApplyKey(command, std::string(inner.str()), value, path);
    } else {
      ApplyKey(command, std::string(key.str()), node, path);
    }
  }
}

bool ConfigHasData(const std::string& path) { return ParseFile(path)["data"].is_table(); }

}  // namespace hotrow::cli
