#include "hotrow/run/run_settings.h"

#include <functional>
#include <span>

#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/data/csv_schema_toml.h"
#include "hotrow/files/toml_file.h"
#include "hotrow/run/config_file.h"
#include "hotrow/run/words.h"

namespace hotrow {
namespace {

// Of a run that reads CSV files: from --schema, else from [data] of the configuration, which is parsed
// already.
void ReadSchema(const toml::table& config_file, RunSettings& settings) {
  DataConfig& data = settings.config.data;
  if (FindSetting(settings.command, "schema") == nullptr) return;
  if (data.format.has_value() && data.format != DataFormat::kCsv) return;
  const auto read = [&](const std::string& path, const toml::table& file) {
    data.schema = ReadCsvSchema(path, file);
    ReadTablesOfFeatures(path, file, settings.config);
  };
  if (!data.schema_file.empty()) {
    read(data.schema_file, ParseTomlFile("--schema", data.schema_file));
  } else if (config_file.contains("data")) {
    read(settings.config.common.config, config_file);
  }
}

}  // namespace

RunSettings ReadSettings(RunCommand command, const std::vector<GivenFlag>& flags) {
  RunSettings settings{.command = command, .config = DefaultConfig(command), .given = {}, .said = {}};
  for (const GivenFlag& flag : flags) {
    const Setting* setting = FindSetting(command, flag.name);
    HOTROW_CHECK(setting != nullptr);
    Assign(*setting, flag.words, "--" + std::string(setting->name), settings.config);
    settings.given.emplace(setting->name);
    settings.said.emplace(setting->name);
  }
  toml::table file;
  if (const std::string path = settings.config.common.config; !path.empty()) {
    file = ParseTomlFile("--config", path);
    ApplyConfigFile(path, file, settings);
  }
  ReadSchema(file, settings);
  return settings;
}

DataFormat FormatOf(RunCommand command, const DataConfig& data) {
  if (data.format) return *data.format;
  if (data.schema) return DataFormat::kCsv;
  constexpr RunCommands kOfSamples = kTrain | kDataInfo;
  return (command & kOfSamples) != 0 ? DataFormat::kCriteo : DataFormat::kSynthetic;
}

namespace {

// "step", "criteo or csv", "step, sparse or recat": the words whose bits are set.
template <typename T, std::size_t N>
std::string WordsIn(const Word<T> (&words)[N], unsigned bits) {
  std::vector<std::string_view> in;
  for (const Word<T>& word : words) {
    if ((bits & Bit(word.value)) != 0) in.push_back(word.text);
  }
  std::string text;
  for (std::size_t i = 0; i < in.size(); ++i) {
    text += i == 0 ? "" : i + 1 == in.size() ? " or " : ", ";
    text += in[i];
  }
  return text;
}

void CheckRead(const RunSettings& settings, const Setting& setting) {
  const ReadBy& read_by = setting.read_by;
  const RunConfig& config = settings.config;
  const DataFormat format = FormatOf(settings.command, config.data);
  if ((read_by.formats & Bit(format)) == 0 && (settings.command & kBench) == 0) {
    Fail("--{}: --format {}{} does not read it; --format {} does", setting.name, WordOf(kDataFormats, format),
         config.data.format || config.data.schema ? "" : ", the default here,",
         WordsIn(kDataFormats, read_by.formats));
  }
  if (settings.command == kBench && (read_by.parts & Bit(config.bench.part)) == 0) {
    Fail("--{}: --part {} does not read it; {} does", setting.name, WordOf(kBenchParts, config.bench.part),
         WordsIn(kBenchParts, read_by.parts));
  }
  if (read_by.with.empty()) return;
  const Setting* with = FindSetting(settings.command, read_by.with);
  HOTROW_CHECK(with != nullptr);
  if (!TextOf(*with, config).empty()) return;
  Fail("--{}: a run without --{} does not read it; one with it does", setting.name, with->name);
}

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

void RefuseUnread(const RunSettings& settings) {
  for (const Setting* setting : SettingsOf(settings.command)) {
    if (settings.given.contains(setting->name)) CheckRead(settings, *setting);
  }
}

void CheckSameCommand(std::string_view command, Communicator& comm) {
  CheckAgreement(comm, BytesOf(fmt::format("{} {}", HOTROW_VERSION, command)),
                 "the command and hotrow's version");
}

void CheckSameSettings(const RunSettings& settings, Communicator& comm) {
  CheckSameCommand(CommandName(settings.command), comm);
  std::vector<const Setting*> shared;
  std::string all;
  for (const Setting* setting : SettingsOf(settings.command)) {
    if (setting->own) continue;
    shared.push_back(setting);
    all += fmt::format("{}={}\n", setting->name, TextOf(*setting, settings.config));
  }
  std::string tables;
  for (const TableOverride& entry : settings.config.table_overrides) {
    RunConfig config;
    config.tables = entry.values;
    tables += entry.table + "\n";
    for (const std::string& key : entry.keys) {
      tables += fmt::format("{}={}\n", key, TextOf(*FindSetting(kTrain, key), config));
    }
  }
  all += tables;
  const std::size_t hash = std::hash<std::string>{}(all);
  if (AllReduceMin(comm, hash) == AllReduceMax(comm, hash)) return;
  for (const Setting* setting : shared) {
    CheckAgreement(comm, BytesOf(TextOf(*setting, settings.config)), "--" + std::string(setting->name));
  }
  CheckAgreement(comm, BytesOf(tables), "what is said of single tables");
}

}  // namespace hotrow
