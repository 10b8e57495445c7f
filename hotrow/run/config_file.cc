#include "hotrow/run/config_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/join.h"

namespace hotrow {
namespace {

bool Takes(const Setting& setting, const toml::node& node) {
  if (std::holds_alternative<Field<bool>>(setting.at)) return node.is_boolean();
  const std::string_view type = TypeName(setting);
  if (type == "INT" || type == "UINT") return node.is_integer();
  if (type == "FLOAT") return node.is_number();
  // A list of rows, "auto" or 4: texts to the setting, numbers to who writes them.
  return node.is_string() || (type == "TEXT" && node.is_integer());
}

const char* Needed(const Setting& setting) {
  if (std::holds_alternative<Field<bool>>(setting.at)) return "true or false";
  const std::string_view type = TypeName(setting);
  if (type == "INT" || type == "UINT") return "an integer";
  return type == "FLOAT" ? "a number" : "a text";
}

// A value that is no list, as it would stand on the command line.
std::string WordOfNode(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return node.value_or(false) ? "true" : "false";
}

// Settings that are lists take their text, "512,256", too; and texts that are lists to the command alone,
// such as cardinality, take lists.
std::vector<std::string> WordsOf(const Setting& setting, const toml::node& node, const std::string& where) {
  const bool list = IsList(setting);
  const bool text = std::holds_alternative<Field<std::string>>(setting.at);
  if (list && node.is_string()) return {WordOfNode(node)};
  const auto* array = node.as_array();
  if (array == nullptr) {
    if (!Takes(setting, node)) Fail("{}: must be {}", where, Needed(setting));
    return {WordOfNode(node)};
  }
  if (!list && !text) Fail("{}: must be {}, not a list", where, Needed(setting));
  std::vector<std::string> words;
  for (const toml::node& item : *array) {
    if (!Takes(setting, item)) Fail("{}: must be {}", where, Needed(setting));
    words.push_back(WordOfNode(item));
  }
  if (list) return words;
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ",") + word;
  return {joined};
}

// The commands that a table of the file groups keys of: "plan" those of `plan make` and its like.
RunCommands OwnersOf(std::string_view table) {
  if (table == "model") return kAll;
  RunCommands owners = 0;
  for (const RunCommand command : AllCommands()) {
    const std::string_view name = CommandName(command);
    const std::size_t space = name.find(' ');
    if (name == table || (space != std::string_view::npos &&
                          (name.substr(0, space) == table || name.substr(space + 1) == table))) {
      owners |= command;
    }
  }
  return owners;
}

std::vector<std::string> ValidTables() {
  std::vector<std::string> names = {"data", "model"};
  for (const RunCommand command : AllCommands()) {
    const std::string_view name = CommandName(command);
    const std::size_t space = name.find(' ');
    names.emplace_back(name.substr(0, space));
    if (space != std::string_view::npos) names.emplace_back(name.substr(space + 1));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Dashed(std::string key) {
  std::ranges::replace(key, '_', '-');
  return key;
}

class Applier {
 public:
  Applier(const std::string& path, RunSettings& settings) : path_(path), settings_(settings) {}

  void File(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      if (const toml::table* table = node.as_table()) {
        Table(name, *table);
      } else if (name == "tables" && node.is_array_of_tables()) {
        ReadTables(path_, root, settings_.config);
      } else {
        Key(name, node, settings_.command);
      }
    }
  }

 private:
  void Table(const std::string& name, const toml::table& table) {
    if (name == "data") return;  // a schema
    const RunCommands owners = OwnersOf(name);
    if (owners == 0) {
      Fail("{}:{}: unknown table [{}], valid: {}", path_, table.source().begin.line, name,
           JoinNames(ValidTables()));
    }
    // What trained a model is passed over where it is evaluated.
    const bool makes_model = FindSetting(settings_.command, "embedding-dim") != nullptr;
    const bool mine = name == "model" ? makes_model : (owners & settings_.command) != 0;
    for (const auto& [key, value] : table) {
      const std::string text(key.str());
      if (mine) {
        Key(text, value, settings_.command);
      } else if (Find(owners, text) == nullptr) {
        FailUnknown(text, value, FirstOf(owners));
      }
    }
  }

  static RunCommand FirstOf(RunCommands owners) {
    return *std::ranges::find_if(AllCommands(), [&](RunCommand c) { return (owners & c) != 0; });
  }

  static const Setting* Find(RunCommands commands, const std::string& key) {
    const Setting* setting = FindSetting(commands, Dashed(key));
    return setting == nullptr || setting->name == "config" ? nullptr : setting;
  }

  void Key(const std::string& key, const toml::node& value, RunCommand command) {
    const std::string where = fmt::format("{}:{}: {}", path_, value.source().begin.line, key);
    const Setting* setting = Find(command, key);
    if (setting == nullptr) {
      if (Find(kAll, key) != nullptr) return;
      FailUnknown(key, value, command);
    }
    const auto [first, fresh] = lines_.emplace(setting, value.source().begin.line);
    if (!fresh) Fail("{}: line {} sets it already", where, first->second);
    std::vector<std::string> words = WordsOf(*setting, value, where);
    if (Dashed(key) == setting->negated) words = {words.front() == "true" ? "false" : "true"};
    RunConfig with = settings_.config;
    Assign(*setting, words, where, with);
    settings_.said.emplace(setting->name);
    if (!settings_.given.contains(setting->name)) settings_.config = std::move(with);
  }

  [[noreturn]] void FailUnknown(const std::string& key, const toml::node& value, RunCommand command) const {
    Fail("{}:{}: {}: unknown key, valid: {}", path_, value.source().begin.line, key,
         JoinNames(KeysOf(command)));
  }

  const std::string& path_;
  RunSettings& settings_;
  std::map<const Setting*, toml::source_index> lines_;
};

}  // namespace

void ApplyConfigFile(const std::string& path, const toml::table& file, RunSettings& settings) {
  Applier(path, settings).File(file);
}

namespace {

// Keys of a [[tables]], but for its name.
std::vector<std::string> TableKeys() {
  std::vector<std::string> keys;
  for (const Setting* setting : SettingsOf(kTrain)) {
    if (!setting->per_table) continue;
    keys.emplace_back(setting->name);
    std::ranges::replace(keys.back(), '-', '_');
  }
  return keys;
}

// A setting that may be said of one table; null for other keys.
const Setting* TableSetting(std::string_view key) {
  const Setting* setting = FindSetting(kTrain, Dashed(std::string(key)));
  return setting != nullptr && setting->per_table ? setting : nullptr;
}

// What the table of the file says, its keys that are none of a table's left out.
TableOverride ReadOverride(const std::string& path, const toml::table& table, std::string name) {
  TableOverride entry{.table = std::move(name),
                      .where = fmt::format("{}:{}", path, table.source().begin.line),
                      .keys = {},
                      .values = {}};
  RunConfig config;
  for (const auto& [key, value] : table) {
    const Setting* setting = TableSetting(key.str());
    if (setting == nullptr) continue;
    const std::string where = fmt::format("{}:{}: {}", path, value.source().begin.line, key.str());
    if (std::ranges::find(entry.keys, setting->name) != entry.keys.end()) {
      Fail("{}: is set already, in another spelling", where);
    }
    Assign(*setting, WordsOf(*setting, value, where), where, config);
    entry.keys.emplace_back(setting->name);
  }
  entry.values = config.tables;
  return entry;
}

}  // namespace

void ReadTables(const std::string& path, const toml::table& file, RunConfig& config) {
  for (const toml::node& node : *file["tables"].as_array()) {
    const toml::table& table = *node.as_table();
    for (const auto& [key, value] : table) {
      if (key.str() == "name" || TableSetting(key.str()) != nullptr) continue;
      Fail("{}:{}: {}: unknown key in [[tables]], valid: name, {}", path, value.source().begin.line,
           key.str(), JoinNames(TableKeys()));
    }
    const std::optional<std::string> name = table["name"].value_exact<std::string>();
    if (!name) Fail("{}:{}: [[tables]] needs a name, a text", path, table.source().begin.line);
    config.table_overrides.push_back(ReadOverride(path, table, *name));
  }
}

void ReadTablesOfFeatures(const std::string& path, const toml::table& schema, RunConfig& config) {
  // Whatever is not as it should be has been said: the schema was read.
  for (const toml::node& node : *schema["data"]["sparse"].as_array()) {
    const toml::table& feature = *node.as_table();
    const std::string name = feature["name"].value_or(feature["column"].value_or(std::string()));
    TableOverride entry = ReadOverride(path, feature, feature["table"].value_or("t_" + name));
    if (!entry.keys.empty()) config.table_overrides.push_back(std::move(entry));
  }
}

}  // namespace hotrow
