#include "hotrow/data/csv_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/join.h"
#include "hotrow/base/printable.h"
#include "hotrow/data/csv_schema_toml.h"
#include "hotrow/data/parse.h"
#include "hotrow/files/toml_file.h"

namespace hotrow {
namespace {

// Two-character operators first: "<=" must not read as "<".
constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons = {{
    {"==", Comparison::kEqual},
    {"!=", Comparison::kNotEqual},
    {"<=", Comparison::kLessEqual},
    {">=", Comparison::kGreaterEqual},
    {"<", Comparison::kLess},
    {">", Comparison::kGreater},
}};

// A table of the TOML file whose keys are taken one by one; every error says where.
class Section {
 public:
  /// `others`: keys that are somebody else's.
  Section(const std::string& path, const toml::table& table, std::string name, std::vector<std::string> keys,
          std::span<const std::string_view> others = {})
      : path_(path), table_(table), name_(std::move(name)) {
    for (const auto& [key, node] : table_) {
      if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
      if (std::find(others.begin(), others.end(), key.str()) != others.end()) continue;
      keys.insert(keys.end(), others.begin(), others.end());
      FailAt(key.source(),
             fmt::format("unknown key '{}' in {}; valid keys are {}", key.str(), name_, JoinNames(keys)));
    }
  }

  bool Has(const char* key) const { return table_.contains(key); }

  std::string Text(const char* key, std::string otherwise) const {
    return Has(key) ? Need(key, table_[key].value_exact<std::string>(), "a text") : otherwise;
  }
  std::string NeedText(const char* key) const {
    if (!Has(key)) FailAt(table_.source(), fmt::format("{} needs the key '{}'", name_, key));
    std::string text = Text(key, "");
    if (text.empty()) FailKey(key, "is empty");
    return text;
  }
  bool Bool(const char* key, bool otherwise) const {
    return Has(key) ? Need(key, table_[key].value_exact<bool>(), "true or false") : otherwise;
  }
  std::optional<double> Number(const char* key) const {
    if (!Has(key)) return std::nullopt;
    const double value =
        Need(key, table_[key].is_number() ? table_[key].value<double>() : std::nullopt, "a number");
    if (!std::isfinite(value)) FailKey(key, "must be finite");
    return value;
  }
  std::int64_t Integer(const char* key, std::int64_t otherwise, std::int64_t least) const {
    if (!Has(key)) return otherwise;
    const std::int64_t value = Need(key, table_[key].value_exact<std::int64_t>(), "an integer");
    if (value < least) FailKey(key, fmt::format("is {}; at least {} is needed", value, least));
    return value;
  }
  std::optional<char> Character(const char* key) const {
    if (!Has(key)) return std::nullopt;
    const std::string text = Text(key, "");
    if (text.size() != 1 || text == "\n" || text == "\r" || text == "\"") {
      FailKey(key, fmt::format("is {}; one character that is no line end or quote is needed", Quoted(text)));
    }
    return text.front();
  }
  std::vector<std::string> Texts(const char* key, std::vector<std::string> otherwise) const {
    if (!Has(key)) return otherwise;
    std::vector<std::string> texts;
    const toml::array* array = table_[key].as_array();
    if (array == nullptr) FailKey(key, "must be a list of texts");
    for (const toml::node& node : *array) {
      const auto text = node.value_exact<std::string>();
      if (!text) FailAt(node.source(), fmt::format("'{}' in {} must be a list of texts", key, name_));
      texts.push_back(*text);
    }
    return texts;
  }
  /// The tables of [[data.KEY]].
  std::vector<const toml::table*> Tables(const char* key) const {
    std::vector<const toml::table*> tables;
    if (!Has(key)) return tables;
    const toml::array* array = table_[key].as_array();
    if (array == nullptr) FailKey(key, fmt::format("must be written as [[data.{}]]", key));
    for (const toml::node& node : *array) {
      if (!node.is_table())
        FailAt(node.source(), fmt::format("'{}' must be written as [[data.{}]]", key, key));
      tables.push_back(node.as_table());
    }
    return tables;
  }
  template <typename T, std::size_t N>
  T Choice(const char* key, T otherwise, const std::array<std::pair<std::string_view, T>, N>& choices) const {
    if (!Has(key)) return otherwise;
    const std::string text = Text(key, "");
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (name == text) return value;
      names.emplace_back(name);
    }
    FailKey(key, fmt::format("is {}, none of {}", Quoted(text), JoinNames(names)));
  }

  [[noreturn]] void FailKey(const char* key, const std::string& message) const {
    const toml::node* node = table_.get(key);
    FailAt(node == nullptr ? table_.source() : node->source(),
           fmt::format("'{}' in {} {}", key, name_, message));
  }
  [[noreturn]] void FailAt(const toml::source_region& where, const std::string& message) const {
    Fail("{}:{}: {}", path_, where.begin.line, message);
  }

 private:
  template <typename T>
  T Need(const char* key, const std::optional<T>& value, const char* kind) const {
    if (!value) FailKey(key, fmt::format("must be {}", kind));
    return *value;
  }

  const std::string& path_;
  const toml::table& table_;
  std::string name_;
};

DenseColumn ReadDense(const Section& section, const toml::table& table) {
  DenseColumn dense;
  dense.column = section.NeedText("column");
  dense.scale = section.Number("scale").value_or(1.0);
  constexpr std::array<std::pair<std::string_view, DenseTransform>, 3> kTransforms = {
      {{"none", DenseTransform::kNone},
       {"log1p", DenseTransform::kLog1p},
       {"standardize", DenseTransform::kStandardize}}};
  dense.transform = section.Choice("transform", DenseTransform::kNone, kTransforms);
  dense.mean = section.Number("mean");
  dense.std = section.Number("std");
  const bool standardize = dense.transform == DenseTransform::kStandardize;
  if (dense.mean.has_value() != dense.std.has_value()) {
    section.FailKey(dense.mean ? "mean" : "std", "needs the other of mean and std too");
  }
  if (dense.mean && !standardize) section.FailKey("mean", "belongs to transform = \"standardize\"");
  if (dense.std && *dense.std <= 0.0) section.FailKey("std", "must be above 0");
  if (table["missing"].is_string()) {
    if (section.Text("missing", "") != "mean" || !standardize) {
      section.FailKey("missing", "must be a number, or \"mean\" with transform = \"standardize\"");
    }
    dense.missing_is_mean = true;
  } else {
    dense.missing = section.Number("missing");
  }
  return dense;
}

SparseColumn ReadSparse(const Section& section) {
  SparseColumn sparse;
  sparse.column = section.NeedText("column");
  sparse.name = section.Has("name") ? section.NeedText("name") : sparse.column;
  constexpr std::array<std::pair<std::string_view, SparseEncoding>, 3> kEncodings = {
      {{"vocabulary", SparseEncoding::kVocabulary},
       {"hash", SparseEncoding::kHash},
       {"integer", SparseEncoding::kInteger}}};
  sparse.encoding = section.Choice("encoding", SparseEncoding::kVocabulary, kEncodings);
  const bool vocabulary = sparse.encoding == SparseEncoding::kVocabulary;
  if (vocabulary && section.Has("rows"))
    section.FailKey("rows", "is the training file's matter with a vocabulary");
  if (!vocabulary && !section.Has("rows")) section.FailKey("rows", "is needed with encoding hash or integer");
  if (!vocabulary && section.Has("min_count"))
    section.FailKey("min_count", "belongs to encoding = \"vocabulary\"");
  sparse.rows = section.Integer("rows", 0, 1);
  sparse.min_count = section.Integer("min_count", 1, 1);
  if (section.Has("table")) sparse.table = section.NeedText("table");
  if (section.Has("weights")) sparse.weights = section.NeedText("weights");
  sparse.separator = section.Character("separator");
  if (!sparse.separator && section.Has("max_length")) section.FailKey("max_length", "needs a separator");
  sparse.max_length = section.Integer("max_length", 0, 0);
  constexpr std::array<std::pair<std::string_view, MissingField>, 3> kMissing = {
      {{"value", MissingField::kValue}, {"empty", MissingField::kEmpty}, {"error", MissingField::kError}}};
  const bool integer = sparse.encoding == SparseEncoding::kInteger;
  MissingField otherwise = integer ? MissingField::kError : MissingField::kValue;
  if (sparse.separator) otherwise = MissingField::kEmpty;
  sparse.missing = section.Choice("missing", otherwise, kMissing);
  if (integer && sparse.missing == MissingField::kValue) {
    section.FailKey("missing", "cannot be \"value\" with encoding = \"integer\": an empty text is no number");
  }
  return sparse;
}

// Of two features that share a table, `first` being the earlier.
void CheckSharedTable(const SparseColumn& first, const SparseColumn& sparse, const Section& section) {
  const auto refuse = [&](const char* what) {
    section.FailKey("table", fmt::format("is {}, the table of feature '{}' too, but '{}' has another {}",
                                         Quoted(sparse.TableName()), first.name, sparse.name, what));
  };
  if (first.encoding != sparse.encoding) refuse("encoding");
  if (first.rows != sparse.rows) refuse("rows");
  if (first.min_count != sparse.min_count) refuse("min_count");
}

void ReadSparseTables(const std::string& path, const Section& data, CsvSchema& schema) {
  std::set<std::string> names;
  for (const toml::table* table : data.Tables("sparse")) {
    const Section section(path, *table, "[[data.sparse]]",
                          {"column", "name", "encoding", "rows", "min_count", "separator", "max_length",
                           "missing", "table", "weights"},
                          kTableKeys);
    schema.sparse.push_back(ReadSparse(section));
    const SparseColumn& sparse = schema.sparse.back();
    if (!names.insert(sparse.name).second) {
      section.FailKey(section.Has("name") ? "name" : "column",
                      fmt::format("'{}' names two features; give one another name", sparse.name));
    }
    SparseColumn& first = schema.sparse[FirstOfTable(schema, schema.sparse.size() - 1)];
    if (&first == &sparse) continue;
    CheckSharedTable(first, sparse, section);
    first.table = schema.sparse.back().table = first.TableName();
  }
  if (schema.sparse.empty()) data.FailKey("sparse", "is empty: at least one [[data.sparse]] is needed");
}

CsvSchema ReadData(const std::string& path, const toml::table& table) {
  const Section data(path, table, "[data]",
                     {"format", "separator", "quotes", "header", "columns", "missing_values", "label",
                      "sample_weight", "dense", "sparse"});
  if (data.Text("format", "csv") != "csv") data.FailKey("format", "is not \"csv\", so this is no CSV schema");
  CsvSchema schema;
  schema.separator = data.Character("separator").value_or(',');
  schema.quotes = data.Bool("quotes", true);
  schema.header = data.Bool("header", true);
  schema.columns = data.Texts("columns", {});
  if (schema.header != schema.columns.empty()) {
    data.FailKey("columns", schema.header ? "belongs to header = false" : "is needed with header = false");
  }
  std::set<std::string> named;
  for (const std::string& column : schema.columns) {
    if (!column.empty() && !named.insert(column).second) {
      data.FailKey("columns", fmt::format("has {} twice", Quoted(column)));
    }
  }
  schema.missing_values = data.Texts("missing_values", {""});
  const std::string label = data.NeedText("label");
  try {
    schema.label = ParseLabelRule(label);
  } catch (const Error& error) {
    data.FailKey("label", fmt::format("is no label rule: {}", error.what()));
  }
  if (data.Has("sample_weight")) schema.sample_weight = data.NeedText("sample_weight");
  for (const toml::table* dense : data.Tables("dense")) {
    schema.dense.push_back(ReadDense(
        {path, *dense, "[[data.dense]]", {"column", "scale", "transform", "mean", "std", "missing"}},
        *dense));
  }
  ReadSparseTables(path, data, schema);
  return schema;
}

}  // namespace

LabelRule ParseLabelRule(const std::string& text) {
  LabelRule rule;
  const std::size_t at = text.find_first_of("=!<>");
  rule.column = Trim(std::string_view(text).substr(0, at));
  if (at == std::string::npos && !rule.column.empty()) return rule;
  for (const auto& [name, comparison] : kComparisons) {
    if (rule.column.empty() || text.compare(at, name.size(), name) != 0) continue;
    const std::optional<double> threshold = ParseNumber(std::string_view(text).substr(at + name.size()));
    if (!threshold || !std::isfinite(*threshold)) break;
    rule.comparison = comparison;
    rule.threshold = *threshold;
    return rule;
  }
  Fail("{} is neither COLUMN nor COLUMN OP NUMBER with an OP of ==, !=, <, <=, >, >=", Quoted(text));
}

std::string ToString(const LabelRule& rule) {
  for (const auto& [name, comparison] : kComparisons) {
    if (comparison == rule.comparison) return fmt::format("{} {} {}", rule.column, name, rule.threshold);
  }
  return rule.column;
}

std::size_t FirstOfTable(const CsvSchema& schema, std::size_t f) {
  const std::string table = schema.sparse[f].TableName();
  std::size_t first = 0;
  while (schema.sparse[first].TableName() != table) ++first;
  return first;
}

CsvSchema ReadCsvSchema(const std::string& path, const toml::table& file) {
  const toml::table* data = file["data"].as_table();
  if (data == nullptr) Fail("{}: no [data] table, which says what the columns mean", path);
  return ReadData(path, *data);
}

CsvSchema LoadCsvSchema(const std::string& path) {
  return ReadCsvSchema(path, ParseTomlFile("schema", path));
}

}  // namespace hotrow
