#include "hotrow/data/criteo_encoder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/join.h"
#include "hotrow/base/printable.h"
#include "hotrow/data/header.h"
#include "hotrow/data/labels.h"
#include "hotrow/data/parse.h"
#include "hotrow/data/presets.h"

namespace hotrow {
namespace {

constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

struct Columns {
  std::size_t count = 0;
  std::size_t label = kAbsent;
  std::array<std::size_t, kCriteoDense> dense{};
  std::array<std::size_t, kCriteoSparse> sparse{};
};

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::size_t FindColumn(const std::vector<std::string>& header, std::string_view name) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (SameName(header[i], name)) return i;
  }
  return kAbsent;
}

bool IsHeader(std::string_view line, char separator) {
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(separator), line.size());
    std::string_view name = Trim(line.substr(0, end));
    if (name.size() > 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    if (SameName(name, "I1") || SameName(name, "C1")) return true;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return false;
}

std::size_t NeedColumn(const RecordReader& reader, const std::vector<std::string>& header,
                       const std::string& name) {
  const std::size_t column = FindColumn(header, name);
  if (column != kAbsent) return column;
  const std::vector<std::string> names(reader.fields().begin(), reader.fields().end());
  reader.FailLine(fmt::format("no column '{}'; the columns are {}", name, JoinNames(names)));
}

Columns FromHeader(const RecordReader& reader) {
  Columns columns;
  const std::vector<std::string> header = HeaderNames(reader, Case::kLowered);
  columns.count = header.size();
  columns.label = FindColumn(header, "label");
  for (std::size_t i = 0; i < kCriteoDense; ++i) {
    columns.dense[i] = NeedColumn(reader, header, fmt::format("I{}", i + 1));
  }
  for (std::size_t i = 0; i < kCriteoSparse; ++i) {
    columns.sparse[i] = NeedColumn(reader, header, fmt::format("C{}", i + 1));
  }
  return columns;
}

Columns FromCount(const std::string& path, std::size_t count) {
  constexpr std::size_t kInputs = kCriteoDense + kCriteoSparse;
  if (count < kInputs || count > kInputs + 2) {
    Fail(
        "{}:1: {} columns; a Criteo file has 40 (label, 13 integers, 26 categoricals), 39 without the "
        "label, 41 with an Id first, or a header that names I1 … I13 and C1 … C26; other files need a "
        "--schema (docs/DATA.md)",
        path, count);
  }
  Columns columns;
  columns.count = count;
  const std::size_t first = count - kInputs;
  if (first > 0) columns.label = first - 1;
  for (std::size_t i = 0; i < kCriteoDense; ++i) columns.dense[i] = first + i;
  for (std::size_t i = 0; i < kCriteoSparse; ++i) columns.sparse[i] = first + kCriteoDense + i;
  return columns;
}

class BoundCriteo : public BoundEncoder {
 public:
  BoundCriteo(const DataDescription& description, const Columns& columns)
      : description_(description), columns_(columns) {}

  bool has_labels() const override { return columns_.label != kAbsent; }

  void Encode(const RecordReader& record, EncodedSamples& out) override {
    const auto fields = record.fields();
    if (fields.size() != columns_.count) {
      record.FailLine(fmt::format("{} columns; {} are needed", fields.size(), columns_.count));
    }
    if (has_labels()) out.AddLabel(ParseLabel(record, columns_.label, "label"));
    for (std::size_t i = 0; i < kCriteoDense; ++i) out.AddDense(Dense(record, i));
    for (std::size_t i = 0; i < kCriteoSparse; ++i) {
      out.AddId(Sparse(record, i));
      out.EndBag();
    }
    out.EndSample();
  }

 private:
  float Dense(const RecordReader& record, std::size_t i) const {
    const std::string_view field = record.fields()[columns_.dense[i]];
    if (field.empty()) return CriteoEncoder::DenseTransform(0.0);
    const std::optional<double> x = ParseNumber(field);
    if (!x || !std::isfinite(*x)) {
      record.FailAt(columns_.dense[i], fmt::format("I{}", i + 1),
                    Quoted(field) + (x ? " is not finite" : " is not a number"));
    }
    return CriteoEncoder::DenseTransform(*x);
  }

  std::int64_t Sparse(const RecordReader& record, std::size_t i) const {
    const std::string_view field = record.fields()[columns_.sparse[i]];
    if (field.empty()) return 0;
    const std::optional<std::uint64_t> value = ParseHex(field);
    if (!value) {
      record.FailAt(columns_.sparse[i], fmt::format("C{}", i + 1),
                    Quoted(field) + " is not a hexadecimal number");
    }
    return static_cast<std::int64_t>(*value % static_cast<std::uint64_t>(description_.features[i].rows));
  }

  const DataDescription& description_;
  Columns columns_;
};

}  // namespace

CriteoEncoder::CriteoEncoder(std::vector<std::int64_t> rows) {
  if (rows.size() != kCriteoSparse) Fail("criteo: {} tables' rows given; 26 are needed", rows.size());
  const std::vector<std::string> names = NumberedNames("cat_", kCriteoSparse);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 1) Fail("feature '{}': {} rows; at least 1 is needed", names[i], rows[i]);
    description_.features.push_back({names[i], rows[i], 1});
  }
  description_.num_dense = kCriteoDense;
}

std::vector<std::string> CriteoEncoder::DenseNames() const {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= kCriteoDense; ++i) names.push_back(fmt::format("log(I{} + 3)", i));
  return names;
}

float CriteoEncoder::DenseTransform(double x) {
  return static_cast<float>(std::log(std::max(x, -2.0) + 3.0));
}

std::unique_ptr<BoundEncoder> CriteoEncoder::Bind(RecordReader& reader, const BindOptions& options) const {
  const std::string_view first = reader.PeekLine();
  const char separator = first.find('\t') != std::string_view::npos ? '\t' : ',';
  // Only CSV copies quote; in a TSV a quote is an ordinary character.
  reader.set_format({.separator = separator, .quotes = separator == ','});
  const std::size_t count = static_cast<std::size_t>(std::ranges::count(first, separator)) + 1;
  const bool header = IsHeader(first, separator);
  if (header) reader.Next();
  const Columns columns = header ? FromHeader(reader) : FromCount(reader.path(), count);
  if (options.need_labels && columns.label == kAbsent) {
    Fail("{}: no label column: such a file can be predicted, not trained on or evaluated", reader.path());
  }
  return std::make_unique<BoundCriteo>(description_, columns);
}

EncoderText CriteoEncoder::Save() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const SparseFeature& feature : description_.features) rows.push_back(feature.rows);
  return {.json = nlohmann::json{{"format", "criteo"}, {"version", 1}, {"rows", rows}}.dump()};
}

}  // namespace hotrow
