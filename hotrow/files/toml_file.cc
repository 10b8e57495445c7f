#include "hotrow/files/toml_file.h"

#include <fmt/core.h>

#include <filesystem>

#include "hotrow/base/error.h"

namespace hotrow {

toml::table ParseTomlFile(const std::string& flag, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) Fail("{} {}: is a directory", flag, path);
  if (!std::filesystem::exists(path, ignored)) Fail("{} {}: no such file", flag, path);
  if (!std::filesystem::is_regular_file(path, ignored)) Fail("{} {}: is not a file", flag, path);
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    Fail("{}:{}:{}: {}", path, e.source().begin.line, e.source().begin.column, std::string(e.description()));
  }
}

std::string TomlWords(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* array = node.as_array()) {
    std::string list;
    for (const auto& item : *array) {
      if (item.is_array()) Fail("{}: an array in an array is no value of a flag", where);
      if (!list.empty()) list += ',';
      list += TomlWords(item, where);
    }
    return list;
  }
  Fail("{}: not a string, number, boolean or array of them", where);
}

}  // namespace hotrow
