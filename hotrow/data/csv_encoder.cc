#include "hotrow/data/csv_encoder.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/join.h"
#include "hotrow/base/printable.h"
#include "hotrow/data/header.h"
#include "hotrow/data/labels.h"
#include "hotrow/data/parse.h"

namespace hotrow {
namespace {

bool Holds(const LabelRule& rule, double x) {
  switch (rule.comparison) {
    case Comparison::kEqual:
      return x == rule.threshold;
    case Comparison::kNotEqual:
      return x != rule.threshold;
    case Comparison::kLess:
      return x < rule.threshold;
    case Comparison::kLessEqual:
      return x <= rule.threshold;
    case Comparison::kGreater:
      return x > rule.threshold;
    case Comparison::kGreaterEqual:
      return x >= rule.threshold;
    case Comparison::kNone:
      break;
  }
  HOTROW_CHECK(false);
  return false;
}

class BoundCsv : public BoundEncoder {
 public:
  BoundCsv(const CsvEncoder& encoder, CsvColumns columns, const BindOptions& options)
      : encoder_(encoder),
        schema_(encoder.schema()),
        columns_(std::move(columns)),
        refuse_bad_ids_(options.refuse_bad_ids),
        unknown_(options.unknown) {}

  bool has_labels() const override { return columns_.label != CsvColumns::kAbsent; }
  bool has_sample_weights() const override { return columns_.sample_weight != CsvColumns::kAbsent; }

  void Encode(const RecordReader& record, EncodedSamples& out) override {
    const auto fields = CheckedFields(record, columns_);
    if (has_labels()) out.AddLabel(Label(record));
    if (has_sample_weights()) {
      out.AddSampleWeight(ParseSampleWeight(record, columns_.sample_weight, schema_.sample_weight));
    }
    for (std::size_t i = 0; i < schema_.dense.size(); ++i) out.AddDense(Dense(record, i));
    for (std::size_t f = 0; f < schema_.sparse.size(); ++f) {
      if (columns_.weights[f] == CsvColumns::kAbsent) {
        AddBag(record, f, fields[columns_.sparse[f]], out);
      } else {
        AddWeightedBag(record, f, fields[columns_.sparse[f]], out);
      }
      out.EndBag();
    }
    out.EndSample();
  }

 private:
  float Label(const RecordReader& record) const {
    const LabelRule& rule = schema_.label;
    if (rule.comparison == Comparison::kNone) return ParseLabel(record, columns_.label, rule.column);
    const std::string_view field = record.fields()[columns_.label];
    const std::optional<double> x = ParseNumber(field);
    if (!x || std::isnan(*x)) {
      record.FailAt(columns_.label, rule.column, Quoted(field) + " is not a number, which the label needs");
    }
    return Holds(rule, *x) ? 1.0F : 0.0F;
  }

  float Dense(const RecordReader& record, std::size_t i) const {
    const DenseColumn& dense = schema_.dense[i];
    std::optional<double> x = ScaledDense(schema_, columns_, record, i);
    if (!x && dense.missing_is_mean) return 0.0F;  // (mean - mean) / std
    if (!x && !dense.missing) {
      record.FailAt(columns_.dense[i], dense.column,
                    "the field is missing; `missing = NUMBER` in the schema allows it");
    }
    if (!x) x = *dense.missing * dense.scale;
    double y = *x;
    if (dense.transform == DenseTransform::kLog1p) y = std::log1p(y);
    if (dense.transform == DenseTransform::kStandardize) y = (y - *dense.mean) / *dense.std;
    const auto value = static_cast<float>(y);
    if (!std::isfinite(value)) {
      record.FailAt(columns_.dense[i], dense.column,
                    Quoted(record.fields()[columns_.dense[i]]) + " is not finite after scale and transform");
    }
    return value;
  }

  void AddBag(const RecordReader& record, std::size_t f, std::string_view field, EncodedSamples& out) const {
    const SparseColumn& sparse = schema_.sparse[f];
    if (IsMissing(schema_, field)) {
      if (sparse.missing == MissingField::kEmpty) return;
      if (sparse.missing == MissingField::kError) {
        record.FailAt(columns_.sparse[f], sparse.column,
                      "the field is missing; `missing` in the schema may allow it");
      }
      out.AddId(Row(record, f, ""));
      return;
    }
    ForEachValue(sparse, field, [&](std::string_view value) { out.AddId(Row(record, f, value)); });
  }

  // A weight stands where its value does, so both fields are split before any value is dropped.
  void AddWeightedBag(const RecordReader& record, std::size_t f, std::string_view field,
                      EncodedSamples& out) {
    const SparseColumn& sparse = schema_.sparse[f];
    const std::size_t column = columns_.weights[f];
    std::string_view weights = record.fields()[column];
    if (IsMissing(schema_, weights)) weights = {};
    const bool missing = IsMissing(schema_, field);
    if (missing && (weights.empty() || sparse.missing == MissingField::kError)) {
      AddBag(record, f, field, out);
      return;
    }
    Split(missing ? std::string_view() : field, sparse.separator, values_);
    Split(weights, sparse.separator, weights_);
    const bool missing_as_value = missing && sparse.missing == MissingField::kValue;
    if (missing_as_value) values_.assign(1, {});
    if (values_.size() != weights_.size()) {
      record.FailAt(column, sparse.weights,
                    fmt::format("{} weights for the {} values of column '{}'", weights_.size(),
                                values_.size(), sparse.column));
    }
    std::int64_t taken = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool dropped = missing ? !missing_as_value : sparse.separator && values_[i].empty();
      if (dropped) continue;
      if (sparse.max_length > 0 && taken++ == sparse.max_length) break;
      out.AddId(Row(record, f, values_[i]), Weight(record, column, sparse.weights, weights_[i]));
    }
  }

  static void Split(std::string_view field, std::optional<char> separator,
                    std::vector<std::string_view>& items) {
    items.clear();
    if (separator && field.empty()) return;
    for (std::size_t end = 0; separator && (end = field.find(*separator)) != std::string_view::npos;) {
      items.push_back(field.substr(0, end));
      field.remove_prefix(end + 1);
    }
    items.push_back(field);
  }

  static float Weight(const RecordReader& record, std::size_t column, std::string_view name,
                      std::string_view text) {
    const std::optional<double> value = ParseNumber(text);
    const auto weight = static_cast<float>(value.value_or(0.0));
    if (!value || !std::isfinite(weight)) {
      record.FailAt(column, name, Quoted(text) + " is not a weight; weights are finite numbers");
    }
    return weight;
  }

  std::int64_t Row(const RecordReader& record, std::size_t f, std::string_view value) const {
    const SparseColumn& sparse = schema_.sparse[f];
    if (sparse.encoding == SparseEncoding::kHash) return HashRow(value, sparse.rows);
    if (sparse.encoding == SparseEncoding::kInteger) return IntegerRow(record, f, value);
    const std::int64_t row = encoder_.vocabulary(f).Row(value);
    if (unknown_ != nullptr) unknown_->Add(f, row == 0);
    return row;
  }

  // An integer beyond 64 bits becomes a negative id that is the same modulo the table's rows: out of range
  // like itself, and wrapped to the same row.
  std::int64_t IntegerRow(const RecordReader& record, std::size_t f, std::string_view value) const {
    const SparseColumn& sparse = schema_.sparse[f];
    std::optional<std::int64_t> id = ParseInteger(value);
    if (!id) {
      id = ParseIntegerModulo(value, sparse.rows);
      if (!id) record.FailAt(columns_.sparse[f], sparse.column, Quoted(value) + " is not an integer");
      *id -= sparse.rows;
    }
    if (refuse_bad_ids_ && (*id < 0 || *id >= sparse.rows)) {
      record.FailAt(
          columns_.sparse[f], sparse.column,
          fmt::format("id {} is out of range; valid ids are 0 to {}", Trim(value), sparse.rows - 1));
    }
    return *id;
  }

  const CsvEncoder& encoder_;
  const CsvSchema& schema_;
  CsvColumns columns_;
  bool refuse_bad_ids_;
  UnknownCounter* unknown_;
  std::vector<std::string_view> values_;  // of the bag at hand
  std::vector<std::string_view> weights_;
};

// Vocabularies of more text than this stand apart from the JSON: a model's header, which holds that, is read
// whole, and readers of safetensors take at most 100 MB of it.
constexpr std::size_t kMaxTextInJson = std::size_t{1} << 20;

std::size_t Find(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? CsvColumns::kAbsent : static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::int64_t HashRow(std::string_view text, std::int64_t rows) {
  return static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()) % static_cast<std::uint64_t>(rows));
}

std::size_t Vocabulary::Hash::operator()(std::string_view text) const {
  return XXH3_64bits(text.data(), text.size());
}

Vocabulary::Vocabulary(const std::vector<std::string>& values) {
  rows_.reserve(values.size());
  for (const std::string& value : values) rows_.emplace(value, static_cast<std::int64_t>(rows_.size()) + 1);
}

std::int64_t Vocabulary::Row(std::string_view text) const {
  const auto found = rows_.find(text);
  return found == rows_.end() ? 0 : found->second;
}

CsvEncoder::CsvEncoder(CsvSchema schema) : schema_(std::move(schema)) {
  for (const DenseColumn& dense : schema_.dense) {
    HOTROW_CHECK(dense.transform != DenseTransform::kStandardize || (dense.mean && dense.std));
  }
  for (const SparseColumn& sparse : schema_.sparse) {
    HOTROW_CHECK(sparse.encoding != SparseEncoding::kVocabulary || sparse.fitted);
    const std::size_t first = FirstOfTable(schema_, vocabularies_.size());
    vocabularies_.push_back(first < vocabularies_.size()
                                ? vocabularies_[first]
                                : std::make_shared<const Vocabulary>(sparse.vocabulary));
    description_.features.push_back({sparse.name, sparse.rows, sparse.single() ? 1 : 0, sparse.table});
    description_.weighted_ids = description_.weighted_ids || !sparse.weights.empty();
  }
  description_.weighted_samples = !schema_.sample_weight.empty();
  description_.num_dense = static_cast<std::int64_t>(schema_.dense.size());
}

std::vector<std::string> CsvEncoder::DenseNames() const {
  std::vector<std::string> names;
  for (const DenseColumn& dense : schema_.dense) {
    const std::string scaled =
        dense.scale == 1.0 ? dense.column : fmt::format("{} * {}", dense.column, dense.scale);
    switch (dense.transform) {
      case DenseTransform::kNone:
        names.push_back(scaled);
        break;
      case DenseTransform::kLog1p:
        names.push_back("log1p(" + scaled + ")");
        break;
      case DenseTransform::kStandardize:
        names.push_back("standardize(" + scaled + ")");
        break;
    }
  }
  return names;
}

EncoderText CsvEncoder::Save() const {
  std::size_t bytes = 0;
  for (const SparseColumn& sparse : schema_.sparse) {
    for (const std::string& value : sparse.vocabulary) bytes += value.size();
  }
  EncoderText text;
  text.json = ToJson(schema_, bytes > kMaxTextInJson ? &text.vocabularies : nullptr);
  return text;
}

std::unique_ptr<BoundEncoder> CsvEncoder::Bind(RecordReader& reader, const BindOptions& options) const {
  return std::make_unique<BoundCsv>(*this, BindCsvColumns(schema_, reader, options.need_labels), options);
}

CsvColumns BindCsvColumns(const CsvSchema& schema, RecordReader& reader, bool need_label) {
  reader.set_format({.separator = schema.separator, .quotes = schema.quotes});
  std::vector<std::string> names = schema.columns;
  if (schema.header) {
    if (!reader.Next()) Fail("{}: the file is empty", reader.path());
    names = HeaderNames(reader, Case::kKept);
  }
  const std::string where =
      schema.header ? fmt::format("{}:{}", reader.path(), reader.line()) : reader.path();
  const auto need = [&](const std::string& name) {
    const std::size_t column = Find(names, name);
    if (column == CsvColumns::kAbsent) {
      Fail("{}: no column '{}'; the columns are {}", where, name, JoinNames(names));
    }
    return column;
  };
  CsvColumns columns;
  columns.count = names.size();
  const auto find = [&](const std::string& name) { return need_label ? need(name) : Find(names, name); };
  columns.label = find(schema.label.column);
  if (!schema.sample_weight.empty()) columns.sample_weight = find(schema.sample_weight);
  for (const DenseColumn& dense : schema.dense) columns.dense.push_back(need(dense.column));
  for (const SparseColumn& sparse : schema.sparse) {
    columns.sparse.push_back(need(sparse.column));
    columns.weights.push_back(sparse.weights.empty() ? CsvColumns::kAbsent : need(sparse.weights));
  }
  return columns;
}

std::span<const std::string_view> CheckedFields(const RecordReader& record, const CsvColumns& columns) {
  const auto fields = record.fields();
  if (fields.size() != columns.count) {
    record.FailLine(fmt::format("{} fields; the file has {} columns", fields.size(), columns.count));
  }
  return fields;
}

std::optional<double> ScaledDense(const CsvSchema& schema, const CsvColumns& columns,
                                  const RecordReader& record, std::size_t i) {
  const std::string_view field = record.fields()[columns.dense[i]];
  if (IsMissing(schema, field)) return std::nullopt;
  const std::optional<double> x = ParseNumber(field);
  if (!x || !std::isfinite(*x)) {
    record.FailAt(columns.dense[i], schema.dense[i].column,
                  Quoted(field) + (x ? " is not finite" : " is not a number"));
  }
  return *x * schema.dense[i].scale;
}

bool IsMissing(const CsvSchema& schema, std::string_view field) {
  return std::find(schema.missing_values.begin(), schema.missing_values.end(), field) !=
         schema.missing_values.end();
}

}  // namespace hotrow
