#pragma once
// CSV records to samples by a schema.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hotrow/data/csv_schema.h"
#include "hotrow/data/record_encoder.h"

namespace hotrow {

/// XXH3 (64 bits, seed 0) of the text modulo rows: the row of encoding = "hash".
std::int64_t HashRow(std::string_view text, std::int64_t rows);

/// Text -> row of a vocabulary; 0 where it is not in it.
class Vocabulary {
 public:
  explicit Vocabulary(const std::vector<std::string>& values);
  std::int64_t Row(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const;
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> rows_;
};

class CsvEncoder : public RecordEncoder {
 public:
  /// `schema` must be fitted (FitCsvSchema). Throws std::logic_error when it is not.
  explicit CsvEncoder(CsvSchema schema);

  const DataDescription& description() const override { return description_; }
  std::unique_ptr<BoundEncoder> Bind(RecordReader& reader, const BindOptions& options) const override;
  std::vector<std::string> DenseNames() const override;
  EncoderText Save() const override;

  const CsvSchema& schema() const { return schema_; }
  /// Of feature f, its table's; empty unless it has one.
  const Vocabulary& vocabulary(std::size_t f) const { return *vocabularies_[f]; }

 private:
  CsvSchema schema_;
  std::vector<std::shared_ptr<const Vocabulary>> vocabularies_;  // features of one table have the same
  DataDescription description_;
};

/// Where the columns that a schema names stand in a file.
struct CsvColumns {
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  std::size_t count = 0;
  std::size_t label = kAbsent;
  std::size_t sample_weight = kAbsent;
  std::vector<std::size_t> dense;
  std::vector<std::size_t> sparse;
  std::vector<std::size_t> weights;  ///< of each feature's values; kAbsent: they have none
};

/// Sets the reader's format and reads the header where there is one. Throws Error listing the file's columns
/// when one that the schema names is missing; the label's and the sample weight's only when `need_label`.
CsvColumns BindCsvColumns(const CsvSchema& schema, RecordReader& reader, bool need_label);

/// The record's fields, their number checked against the columns.
std::span<const std::string_view> CheckedFields(const RecordReader& record, const CsvColumns& columns);

/// Learns from the records of `paths` what the schema leaves open: vocabularies, means and standard
/// deviations. One pass, none when nothing is open. The labels are not looked at. Throws Error where a file
/// cannot be read or is empty, a record is malformed, or a file changes before the last of them is read.
CsvSchema FitCsvSchema(CsvSchema schema, const std::vector<std::string>& paths);

/// Field `i` of schema.dense, scaled, not yet transformed; nullopt when missing. Throws Error naming the
/// column when it is no finite number.
std::optional<double> ScaledDense(const CsvSchema& schema, const CsvColumns& columns,
                                  const RecordReader& record, std::size_t i);

bool IsMissing(const CsvSchema& schema, std::string_view field);

/// Calls fn(text) for the values of a field of feature `sparse`: one, or those of the bag, at most
/// max_length.
template <typename Fn>
void ForEachValue(const SparseColumn& sparse, std::string_view field, Fn&& fn) {
  if (!sparse.separator) {
    fn(field);
    return;
  }
  std::int64_t taken = 0;
  while (!field.empty() && (sparse.max_length == 0 || taken < sparse.max_length)) {
    const std::size_t end = std::min(field.find(*sparse.separator), field.size());
    if (end > 0) {
      fn(field.substr(0, end));
      ++taken;
    }
    field.remove_prefix(std::min(end + 1, field.size()));
  }
}

}  // namespace hotrow
