#pragma once
// What the columns of a CSV file mean: plain data, read from the [data] table of a TOML file.
//
// clang-format off
//   [data]
//   format = "csv"               # may be left out
//   separator = ","              # one character; "\t" for tabs
//   quotes = true                # RFC 4180 quoted fields
//   header = true                # the first record names the columns; false: `columns` does
//   columns = ["rating", …]      # only with header = false
//   missing_values = ["", "NA"]  # what a missing field holds; default [""]
//   label = "rating >= 4"        # or == != < <= >, or a column of 0 and 1
//   sample_weight = "w"          # a column: how much a sample counts, finite and >= 0; absent: 1 each
//
//   [[data.dense]]               # one a numeric input, in the model's order
//   column = "age"
//   scale = 1.0                  # multiplies the value first
//   transform = "none"           # none; log1p: log(1 + x); standardize: (x - mean) / std
//   mean = 0.0                   # with standardize; both or neither, else fitted on the training files
//   std = 1.0
//   missing = 0.0                # value (before scale) of a missing field, or "mean" with standardize;
//                                #   absent: a missing field is an error
//
//   [[data.sparse]]              # one a categorical feature, in the model's order
//   column = "genres"
//   name = "genres"              # the feature's; default: the column's
//   encoding = "vocabulary"      # vocabulary: rows 1, 2, … for the training files' values, the most
//                                #   frequent first (ties by text), row 0 for any other
//                                # hash: XXH3 of the text modulo rows
//                                # integer: the number is the row
//   rows = 1000                  # with hash and integer
//   min_count = 1                # with vocabulary: values seen less often share row 0
//   separator = "|"              # the field is a bag: a list of values; empty values are dropped
//   max_length = 0               # with separator: keep at most the first so many; 0: all
//   missing = "value"            # a missing field is: "value": the empty text, encoded like any other;
//                                #   "empty": an empty bag; "error". Default: empty for bags, else error
//                                #   for integer, else value
//   table = "t_genres"           # features with one table share its rows, and its vocabulary, which is
//                                #   fitted over all their columns; default: "t_" and the name
//   weights = "genre_weights"    # a column: a weight for each value of the field, in the same order and
//                                #   with the same separator; a value that is dropped drops its weight
// clang-format on
//
// A [[data.sparse]] may also hold kTableKeys, which are the model's matter and are passed over here.
// Other top-level tables of the file are not looked at. docs/DATA.md is the reader's description of this.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/data/encoder_text.h"

namespace hotrow {

enum class Comparison { kNone, kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct LabelRule {
  std::string column;
  Comparison comparison = Comparison::kNone;  ///< kNone: the column holds 0 and 1
  double threshold = 0.0;
};

/// Parses "COLUMN" or "COLUMN OP NUMBER"; throws Error that says so.
LabelRule ParseLabelRule(const std::string& text);
std::string ToString(const LabelRule& rule);

enum class DenseTransform { kNone, kLog1p, kStandardize };

struct DenseColumn {
  std::string column;
  double scale = 1.0;
  DenseTransform transform = DenseTransform::kNone;
  std::optional<double> mean;  ///< of the scaled values; both or neither
  std::optional<double> std;
  std::optional<double> missing;
  bool missing_is_mean = false;
};

enum class SparseEncoding { kVocabulary, kHash, kInteger };
enum class MissingField { kValue, kEmpty, kError };

struct SparseColumn {
  std::string column;
  std::string name;
  SparseEncoding encoding = SparseEncoding::kVocabulary;
  std::int64_t rows = 0;  ///< kVocabulary: known once fitted
  std::int64_t min_count = 1;
  std::optional<char> separator;  ///< present: a bag
  std::int64_t max_length = 0;
  MissingField missing = MissingField::kValue;
  std::string table = {};    ///< empty: a table of its own
  std::string weights = {};  ///< the column of its values' weights; empty: none
  /// Fitted: text of rows 1, 2, …; empty where an earlier feature's table is shared, which has it.
  std::vector<std::string> vocabulary;
  bool fitted = false;  ///< kVocabulary only

  /// Each sample has exactly one id.
  bool single() const { return !separator && missing != MissingField::kEmpty; }
  std::string TableName() const { return table.empty() ? "t_" + name : table; }
};

struct CsvSchema {
  char separator = ',';
  bool quotes = true;
  bool header = true;
  std::vector<std::string> columns;
  std::vector<std::string> missing_values = {""};
  LabelRule label;
  std::string sample_weight = {};  ///< a column; empty: samples count alike
  std::vector<DenseColumn> dense;
  std::vector<SparseColumn> sparse;
};

/// The first feature of feature f's table: f itself where that is its own.
std::size_t FirstOfTable(const CsvSchema& schema, std::size_t f);

/// Keys that a [[data.sparse]] may hold for its table in the model.
inline constexpr std::array<std::string_view, 11> kTableKeys = {
    "embedding_dim", "pooling",      "optimizer",         "learning_rate",      "eps", "beta1", "beta2",
    "init",          "weight_decay", "weight_decay_mode", "initial_accumulator"};

/// Reads and checks a schema. Throws Error naming the file, the line and the key, and the valid keys or
/// values.
CsvSchema LoadCsvSchema(const std::string& path);

/// Everything, fitted parts included, as JSON text and back. Text that is not UTF-8 survives. Vocabularies
/// are left out of the text and put into `apart` where that is given, and taken from there. Throws Error for
/// what ToJson does not write.
std::string ToJson(const CsvSchema& schema, Vocabularies* apart = nullptr);
CsvSchema CsvSchemaFromJson(const std::string& text, const Vocabularies& apart = {});

}  // namespace hotrow
