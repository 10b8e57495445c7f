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
std::vector<std::string> Words(const toml::node& node, const CLI::Option& option, const std::string& where) {
  const ValueKind kind = KindOf(option);
  const bool takes_list = option.get_items_expected_max() > 1;
  if (const auto* text = node.as_string(); text != nullptr && takes_list) return {text->get()};
  const auto* array = node.as_array();
  if (array == nullptr) return {Word(node, kind, where)};
  if (!takes_list && kind != ValueKind::kText) Fail("{}: must be {}, not a list", where, Needed(kind));
  std::vector<std::string> words;
  for (const toml::node& item : *array) {
    if (takes_list || words.empty()) {
      words.push_back(Word(item, kind, where));
    } else {
      words.front() += "," + Word(item, kind, where);
    }
  }
  return words;
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

// The flag that a file's key stands for, without the dashes.
std::string FlagName(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

// The option that a file's key sets; null where the command has none.
CLI::Option* OptionOf(const CLI::App& command, const std::string& key) {
  const std::string name = FlagName(key);
  if (name == "help" || name == "config") return nullptr;
  return const_cast<CLI::App&>(command).get_option_no_throw("--" + name);
}

// The command and those below it.
std::vector<const CLI::App*> WithSubcommands(const CLI::App& command) {
  std::vector<const CLI::App*> all = {&command};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const CLI::App* below : all[i]->get_subcommands({})) all.push_back(below);
  }
  return all;
}

bool AnyHas(const std::vector<const CLI::App*>& commands, const std::string& key) {
  return std::any_of(commands.begin(), commands.end(),
                     [&](const CLI::App* command) { return OptionOf(*command, key) != nullptr; });
}

// Sets a command's options from the file's keys.
class Applier {
 public:
  Applier(CLI::App& command, const std::string& path) : command_(command), path_(path) {
    const CLI::App* root = &command;
    while (root->get_parent() != nullptr) root = root->get_parent();
    all_ = WithSubcommands(*root);
    all_.erase(all_.begin());  // the program's own are --help and --version
  }

  void File(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      if (const toml::table* table = node.as_table()) {
        Table(name, *table);
      } else {
        Key(name, node);
      }
    }
  }

 private:
  void Table(const std::string& name, const toml::table& table) {
    if (name == "data") return;
    // One file serves all that is done with a model: what trained it is passed over where it is evaluated.
    const bool mine = name == "model" ? OptionOf(command_, "embedding-dim") != nullptr : IsMine(name);
    std::vector<const CLI::App*> owners;
    for (const CLI::App* command : all_) {
      if (name != "model" && command->get_name() != name) continue;
      const std::vector<const CLI::App*> family = WithSubcommands(*command);
      owners.insert(owners.end(), family.begin(), family.end());
    }
    if (owners.empty()) {
      Fail("{}:{}: unknown table [{}], valid: {}", path_, table.source().begin.line, name,
           JoinNames(ValidTables()));
    }
    for (const auto& [key, value] : table) {
      const std::string text(key.str());
      if (mine) {
        Key(text, value);
      } else if (!AnyHas(owners, text)) {
        FailUnknown(Where(text, value), *owners.front());
      }
    }
  }

  void Key(const std::string& key, const toml::node& value) {
    const auto line = value.source().begin.line;
    const std::string where = Where(key, value);
    CLI::Option* option = OptionOf(command_, key);
    if (option == nullptr) {
      if (AnyHas(all_, key)) return;
      FailUnknown(where, command_);
    }
    const auto [first, fresh] = lines_.emplace(option, line);
    if (!fresh) Fail("{}: line {} sets it already", where, first->second);
    const std::vector<std::string> words = Words(value, *option, where);
    if (option->count() > 0) return;  // the command line wins
    try {
      for (const std::string& word : words) {
        option->add_result(KindOf(*option) == ValueKind::kFlag ? option->get_flag_value(FlagName(key), word)
                                                               : word);
      }
      option->run_callback();
    } catch (const CLI::Error& e) {
      Fail("{}: {}", where, e.what());
    }
  }

  std::string Where(const std::string& key, const toml::node& value) const {
    return fmt::format("{}:{}: {}", path_, value.source().begin.line, key);
  }

  [[noreturn]] static void FailUnknown(const std::string& where, const CLI::App& command) {
    Fail("{}: unknown key, valid: {}", where, ValidKeys(command));
  }

  // `plan make` has [plan] and [make].
  bool IsMine(const std::string& table) const {
    for (const CLI::App* app = &command_; app->get_parent() != nullptr; app = app->get_parent()) {
      if (app->get_name() == table) return true;
    }
    return false;
  }

  std::vector<std::string> ValidTables() const {
    std::vector<std::string> names = {"data", "model"};
    for (const CLI::App* app : all_) {
      if (app->get_name() != "data") names.push_back(app->get_name());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  CLI::App& command_;
  const std::string& path_;
  std::vector<const CLI::App*> all_;  // of the program
  std::map<const CLI::Option*, toml::source_index> lines_;
};

}  // namespace

void ApplyConfigFile(CLI::App& command, const std::string& path) {
  Applier(command, path).File(ParseTomlFile("--config", path));
}

bool ConfigHasData(const std::string& path) { return ParseTomlFile("--config", path)["data"].is_table(); }

}  // namespace hotrow::cli
