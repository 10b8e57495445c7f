#include "hotrow/run/table_overrides.h"

#include <algorithm>
#include <map>

#include "hotrow/base/error.h"
#include "hotrow/base/join.h"
#include "hotrow/base/printable.h"
#include "hotrow/run/settings.h"

namespace hotrow {
namespace {

std::string TextOf(const Setting& setting, const TableSettings& tables) {
  RunConfig config;
  config.tables = tables;
  return hotrow::TextOf(setting, config);
}

}  // namespace

TableSettings SettingsOfTable(const RunConfig& config, const std::string& table) {
  RunConfig of_table;
  of_table.tables = config.tables;
  std::map<std::string, const TableOverride*> said;
  for (const TableOverride& entry : config.table_overrides) {
    if (entry.table != table) continue;
    for (const std::string& key : entry.keys) {
      const Setting* setting = FindSetting(kTrain, key);
      HOTROW_CHECK(setting != nullptr && setting->per_table);
      const std::string value = TextOf(*setting, entry.values);
      const auto [first, fresh] = said.emplace(key, &entry);
      if (!fresh && TextOf(*setting, first->second->values) != value) {
        Fail("{}: {} of table '{}' is {}, but {} says {}", entry.where, key, table, value,
             first->second->where, TextOf(*setting, first->second->values));
      }
      Assign(*setting, {value}, entry.where, of_table);
    }
  }
  OptimizerConfig& optimizer = of_table.tables.optimizer;
  // What is said of all tables with an accumulator is nothing to one without.
  const bool accumulates =
      optimizer.kind == OptimizerKind::kAdagrad || optimizer.kind == OptimizerKind::kRowWiseAdagrad;
  if (!accumulates && !said.contains("initial-accumulator") &&
      optimizer.kind != config.tables.optimizer.kind) {
    optimizer.initial_accumulator = 0;
  }
  return of_table.tables;
}

void CheckTableOverrides(const RunConfig& config, const std::vector<std::string>& tables) {
  for (const TableOverride& entry : config.table_overrides) {
    if (std::ranges::find(tables, entry.table) != tables.end()) continue;
    Fail("{}: {} is no table of the data, which has {}", entry.where, Quoted(entry.table), JoinNames(tables));
  }
}

}  // namespace hotrow
