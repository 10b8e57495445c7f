#include "hotrow/plan/plan_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/files/strict_json.h"
#include "hotrow/files/text_writer.h"

namespace hotrow {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "hotrow_sharding_plan";
// A plan file nests no deeper; more would only cost memory.
constexpr int kMaxDepth = 6;
// Some two million shards. A larger file is not a plan.
constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 28;

constexpr std::array kTypes = {ShardingType::kTableWise, ShardingType::kColumnWise, ShardingType::kRowWise,
                               ShardingType::kGrid, ShardingType::kDataParallel};

std::string Quoted(const std::string& name) {
  try {
    return Json(name).dump();
  } catch (const Json::type_error&) {
    Fail("plan: a table's name is not UTF-8, which a plan file needs");
  }
}

// A value as an error shows it: ASCII, so that it can be cut anywhere.
std::string Shown(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "an array";
  constexpr std::size_t kLongest = 40;
  const std::string text = json.dump(-1, ' ', true);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// A value of the file and where it stands.
class Node {
 public:
  Node(const Json& json, const std::string& source, std::string place)
      : json_(json), source_(source), place_(std::move(place)) {}

  template <typename... Args>
  [[noreturn]] void FailHere(fmt::format_string<Args...> format, Args&&... args) const {
    Fail("{}: {}: {}", source_, place_.empty() ? "the whole" : place_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  // An object with exactly these keys.
  void ExpectKeys(std::initializer_list<std::string_view> keys) const {
    if (!json_.is_object()) FailHere("found {}; an object is valid", Shown(json_));
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      std::string valid;
      for (const std::string_view known : keys)
        valid += fmt::format("{}{}", valid.empty() ? "" : ", ", known);
      FailHere("unknown key {}; valid are {}", Shown(key), valid);
    }
    for (const std::string_view key : keys) {
      if (!json_.contains(key)) FailHere("key \"{}\" is missing", key);
    }
  }
  bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }
  Node At(const char* key) const { return {json_.at(key), source_, fmt::format("{}/{}", place_, key)}; }

  std::int64_t Integer() const {
    const bool fits = json_.is_number_integer() &&
                      !(json_.is_number_unsigned() &&
                        json_.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (!fits) FailHere("found {}; a 64-bit integer is valid", Shown(json_));
    return json_.get<std::int64_t>();
  }
  std::string String() const {
    if (!json_.is_string()) FailHere("found {}; a string is valid", Shown(json_));
    return json_.get<std::string>();
  }
  std::vector<Node> Elements() const {
    if (!json_.is_array()) FailHere("found {}; an array is valid", Shown(json_));
    std::vector<Node> nodes;
    nodes.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) {
      nodes.emplace_back(json_[i], source_, fmt::format("{}/{}", place_, i));
    }
    return nodes;
  }

 private:
  const Json& json_;
  const std::string& source_;
  std::string place_;
};

ShardingType ParseSharding(const Node& node) {
  const std::string text = node.String();
  std::string valid;
  for (const ShardingType type : kTypes) {
    if (text == ToString(type)) return type;
    valid += (valid.empty() ? "" : ", ") + ToString(type);
  }
  node.FailHere("{} is none of {}", Shown(text), valid);
}

PlanShard ParseShard(const Node& node) {
  node.ExpectKeys({"rank", "first_row", "rows", "first_column", "columns"});
  return {.rank = node.At("rank").Integer(),
          .first_row = node.At("first_row").Integer(),
          .rows = node.At("rows").Integer(),
          .first_column = node.At("first_column").Integer(),
          .columns = node.At("columns").Integer()};
}

TablePlan ParseTable(const Node& node) {
  TablePlan table;
  const bool grid = node.Has("sharding") && ParseSharding(node.At("sharding")) == ShardingType::kGrid;
  if (grid) {
    node.ExpectKeys({"name", "rows", "dim", "sharding", "group_size", "shards"});
    table.group_size = node.At("group_size").Integer();
  } else {
    node.ExpectKeys({"name", "rows", "dim", "sharding", "shards"});
  }
  table.table = node.At("name").String();
  table.rows = node.At("rows").Integer();
  table.dim = node.At("dim").Integer();
  table.sharding = ParseSharding(node.At("sharding"));
  for (const Node& shard : node.At("shards").Elements()) table.shards.push_back(ParseShard(shard));
  return table;
}

// Format and version come first: a file of another kind is told as such, not by its unknown keys.
void CheckHead(const Node& root) {
  if (!root.Has("format") || !root.Has("version")) {
    root.FailHere("not a sharding plan: \"format\": \"{}\" and \"version\": {} are missing", kFormat,
                  kPlanFileVersion);
  }
  if (const std::string format = root.At("format").String(); format != kFormat) {
    root.At("format").FailHere("{} is not \"{}\"", Shown(format), kFormat);
  }
  const std::int64_t version = root.At("version").Integer();
  if (version < 1 || version > kPlanFileVersion) {
    root.At("version").FailHere("version {} is not known; this build reads 1 to {}", version,
                                kPlanFileVersion);
  }
}

std::string ReadWhole(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) Fail("{}: is a directory, not a plan file", path);
  std::ifstream file(path, std::ios::binary);
  if (const int reason = errno; !file) FailErrno(reason, "{}: cannot open", path);
  std::string text;
  std::vector<char> block(1 << 16);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), Index(file.gcount()));
    if (static_cast<std::int64_t>(text.size()) > kMaxFileBytes) {
      Fail("{}: more than {} bytes, which no plan file has", path, kMaxFileBytes);
    }
  }
  if (const int reason = errno; file.bad()) FailErrno(reason, "{}: cannot read", path);
  return text;
}

}  // namespace

std::string PlanToJson(const ShardingPlan& plan) {
  std::string text =
      fmt::format("{{\n \"format\": \"{}\",\n \"version\": {},\n \"world\": {},\n \"tables\": [", kFormat,
                  kPlanFileVersion, plan.world);
  for (std::size_t t = 0; t < plan.tables.size(); ++t) {
    const TablePlan& table = plan.tables[t];
    HOTROW_CHECK(table.sharding == ShardingType::kGrid || table.group_size == 0);
    text +=
        fmt::format("{}\n  {{\"name\": {}, \"rows\": {}, \"dim\": {}, \"sharding\": \"{}\", ",
                    t == 0 ? "" : ",", Quoted(table.table), table.rows, table.dim, ToString(table.sharding));
    if (table.sharding == ShardingType::kGrid) text += fmt::format("\"group_size\": {}, ", table.group_size);
    text += "\"shards\": [";
    for (std::size_t s = 0; s < table.shards.size(); ++s) {
      const PlanShard& shard = table.shards[s];
      text += fmt::format(
          "{}\n   {{\"rank\": {}, \"first_row\": {}, \"rows\": {}, \"first_column\": {}, \"columns\": {}}}",
          s == 0 ? "" : ",", shard.rank, shard.first_row, shard.rows, shard.first_column, shard.columns);
    }
    text += "]}";
  }
  return text + "]\n}\n";
}

ShardingPlan ParsePlan(const std::string& text, const std::string& source) {
  const Json json = ParseStrictJson(text, kMaxDepth, source);
  const Node root(json, source, "");
  CheckHead(root);
  root.ExpectKeys({"format", "version", "world", "tables"});
  ShardingPlan plan;
  plan.world = root.At("world").Integer();
  for (const Node& table : root.At("tables").Elements()) plan.tables.push_back(ParseTable(table));
  return plan;
}

void SavePlan(const ShardingPlan& plan, const std::string& path) {
  TextWriter file(path);
  file.Print("{}", PlanToJson(plan));
  file.Finish();
}

ShardingPlan LoadPlan(const std::string& path) { return ParsePlan(ReadWhole(path), path); }

}  // namespace hotrow
