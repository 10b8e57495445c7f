#include "cli/config_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "cli/cli11.h"
#include "cli/numbers.h"
#include "cli/toml_file.h"
#include "hotrow/base/error.h"
#include "hotrow/base/join.h"

namespace hotrow::cli {
namespace {

const char* Needed(ValueKind kind) {
  switch (kind) {
    case ValueKind::kFlag:
      return "true or false";
    case ValueKind::kInteger:
    case ValueKind::kUnsigned:
      return "an integer";
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kFile:
    case ValueKind::kText:
      break;
  }
  return "a text";
}

// A value that is no list, as it would stand on the command line.
std::string Word(const toml::node& node, ValueKind kind, const std::string& where) {
  const auto* text = node.as_string();
  const auto* integer = node.as_integer();
  const auto* number = node.as_floating_point();
  const auto* flag = node.as_boolean();
  const bool whole =
      kind == ValueKind::kInteger || kind == ValueKind::kUnsigned || kind == ValueKind::kNumber;
  if (text != nullptr && (kind == ValueKind::kText || kind == ValueKind::kFile)) return text->get();
  if (integer != nullptr && (whole || kind == ValueKind::kText)) return fmt::format("{}", integer->get());
  if (number != nullptr && kind == ValueKind::kNumber) return fmt::format("{}", number->get());
  if (flag != nullptr && kind == ValueKind::kFlag) return flag->get() ? "true" : "false";
  Fail("{}: must be {}", where, Needed(kind));
}

// Options that take a list take its text, "512,256", too; so do texts that are lists to the command alone,
// such as --cardinality.
std::string Words(const toml::node& node, const CLI::Option& option, const std::string& where) {
  const ValueKind kind = KindOf(option);
  const bool splits = option.get_delimiter() != '\0';
  if (const auto* text = node.as_string(); text != nullptr && splits) return text->get();
  const auto* array = node.as_array();
  if (array == nullptr) return Word(node, kind, where);
  if (!splits && kind != ValueKind::kText) Fail("{}: must be {}, not a list", where, Needed(kind));
  std::string list;
  for (const toml::node& item : *array) list += (list.empty() ? "" : ",") + Word(item, kind, where);
  return list;
}

std::string ValidKeys(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name != "help" && name != "config") names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return JoinNames(names);
}

// Sets a command's options from the file's keys.
class Applier {
 public:
  Applier(CLI::App& command, const std::string& path) : command_(command), path_(path) {}

  void Table(const toml::table& table) {
    for (const auto& [key, value] : table) Key(std::string(key.str()), value);
  }

  void Key(const std::string& key, const toml::node& value) {
    const auto line = value.source().begin.line;
    const std::string where = fmt::format("{}:{}: {}", path_, line, key);
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    CLI::Option* option = command_.get_option_no_throw("--" + name);
    if (option == nullptr || name == "help" || name == "config") {
      Fail("{}: unknown key, valid: {}", where, ValidKeys(command_));
    }
    const auto [first, fresh] = lines_.emplace(option, line);
    if (!fresh) Fail("{}: line {} sets it already", where, first->second);
    const std::string words = Words(value, *option, where);
    if (option->count() > 0) return;  // the command line wins
    try {
      option->add_result(KindOf(*option) == ValueKind::kFlag ? option->get_flag_value(name, words) : words);
      option->run_callback();
    } catch (const CLI::Error& e) {
      Fail("{}: {}", where, e.what());
    }
  }

 private:
  CLI::App& command_;
  const std::string& path_;
  std::map<const CLI::Option*, toml::source_index> lines_;
};

// [model], [data] and the command's names: `plan make` has [plan] and [make].
std::vector<std::string> ValidTables(const CLI::App& command) {
  std::vector<std::string> names = {"data", "model"};
  for (const CLI::App* app = &command; app->get_parent() != nullptr; app = app->get_parent()) {
    if (app->get_name() != "data") names.push_back(app->get_name());
  }
  return names;
}

}  // namespace

void ApplyConfigFile(CLI::App& command, const std::string& path) {
  const toml::table root = ParseTomlFile("--config", path);
  const std::vector<std::string> tables = ValidTables(command);
  Applier applier(command, path);
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      applier.Key(name, node);
      continue;
    }
    if (std::find(tables.begin(), tables.end(), name) == tables.end()) {
      Fail("{}:{}: unknown table [{}], valid: {}", path, node.source().begin.line, name, JoinNames(tables));
    }
    if (name != "data") applier.Table(*table);
  }
}

bool ConfigHasData(const std::string& path) { return ParseTomlFile("--config", path)["data"].is_table(); }

}  // namespace hotrow::cli
