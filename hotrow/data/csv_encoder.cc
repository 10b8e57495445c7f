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
        refuse_bad_ids_(options.refuse_bad_ids) {}

  bool has_labels() const override { return columns_.label != CsvColumns::kAbsent; }

  void Encode(const RecordReader& record, EncodedSamples& out) override {
    const auto fields = CheckedFields(record, columns_);
    if (has_labels()) out.AddLabel(Label(record));
    for (std::size_t i = 0; i < schema_.dense.size(); ++i) out.AddDense(Dense(record, i));
    for (std::size_t f = 0; f < schema_.sparse.size(); ++f) {
      AddBag(record, f, fields[columns_.sparse[f]], out);
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

  std::int64_t Row(const RecordReader& record, std::size_t f, std::string_view value) const {
    const SparseColumn& sparse = schema_.sparse[f];
    if (sparse.encoding == SparseEncoding::kVocabulary) return encoder_.vocabulary(f).Row(value);
    if (sparse.encoding == SparseEncoding::kHash) return HashRow(value, sparse.rows);
    const std::optional<std::int64_t> id = ParseInteger(value);
    if (!id) record.FailAt(columns_.sparse[f], sparse.column, Quoted(value) + " is not an integer");
    if (refuse_bad_ids_ && (*id < 0 || *id >= sparse.rows)) {
      record.FailAt(columns_.sparse[f], sparse.column,
                    fmt::format("id {} is out of range; valid ids are 0 to {}", *id, sparse.rows - 1));
    }
    return *id;
  }

  const CsvEncoder& encoder_;
  const CsvSchema& schema_;
  CsvColumns columns_;
  bool refuse_bad_ids_;
};

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
    vocabularies_.emplace_back(sparse.vocabulary);
    description_.features.push_back({sparse.name, sparse.rows, sparse.single() ? 1 : 0});
  }
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
  columns.label = need_label ? need(schema.label.column) : Find(names, schema.label.column);
  for (const DenseColumn& dense : schema.dense) columns.dense.push_back(need(dense.column));
  for (const SparseColumn& sparse : schema.sparse) columns.sparse.push_back(need(sparse.column));
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
