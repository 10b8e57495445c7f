// The training file's pass before training: what a schema leaves open.

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/data/csv_encoder.h"

namespace hotrow {
namespace {

using Counts = std::unordered_map<std::string, std::int64_t>;

bool IsOpen(const DenseColumn& dense) {
  return dense.transform == DenseTransform::kStandardize && !dense.mean;
}
bool IsOpen(const SparseColumn& sparse) {
  return sparse.encoding == SparseEncoding::kVocabulary && !sparse.fitted;
}

// Mean and variance in one pass (Welford 1962).
struct Moments {
  std::int64_t count = 0;
  double mean = 0.0;
  double squares = 0.0;

  void Add(double x) {
    ++count;
    const double delta = x - mean;
    mean += delta / static_cast<double>(count);
    squares += delta * (x - mean);
  }
  /// The population's; 1 where all values are equal, so that they become 0.
  double Deviation() const {
    const double variance = count > 0 ? squares / static_cast<double>(count) : 0.0;
    return variance > 0.0 ? std::sqrt(variance) : 1.0;
  }
};

void CountValues(const CsvSchema& schema, const SparseColumn& sparse, std::string_view field,
                 Counts& counts) {
  if (IsMissing(schema, field)) {
    if (sparse.missing == MissingField::kValue) ++counts[""];
    return;
  }
  ForEachValue(sparse, field, [&](std::string_view value) { ++counts[std::string(value)]; });
}

std::vector<std::string> MakeVocabulary(const Counts& counts, std::int64_t min_count) {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [value, count] : counts) {
    if (count >= min_count) order.emplace_back(-count, value);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> vocabulary;
  for (auto& [count, value] : order) vocabulary.push_back(std::move(value));
  return vocabulary;
}

}  // namespace

CsvSchema FitCsvSchema(CsvSchema schema, const std::vector<std::string>& paths) {
  const bool open = std::ranges::any_of(schema.dense, [](const auto& d) { return IsOpen(d); }) ||
                    std::ranges::any_of(schema.sparse, [](const auto& s) { return IsOpen(s); });
  if (!open) return schema;
  if (paths.empty()) Fail("no training file to take vocabularies and statistics from");
  std::vector<Moments> moments(schema.dense.size());
  std::vector<Counts> counts(schema.sparse.size());  // of the features that are the first of their table
  std::vector<std::size_t> first;
  for (std::size_t f = 0; f < schema.sparse.size(); ++f) first.push_back(FirstOfTable(schema, f));
  std::vector<FileStamp> stamps;
  for (const std::string& path : paths) {
    if (IsPipe(path)) {
      Fail(
          "{}: is a pipe, which is read once, and the schema's vocabularies and statistics are taken from "
          "the training files in a pass before training: name a file, or let the schema learn nothing from "
          "the data (encoding hash or integer; mean and std)",
          path);
    }
    RecordReader reader(path);
    stamps.push_back(reader.stamp());
    if (reader.PeekLine().empty()) Fail("{}: the file is empty", path);
    const CsvColumns columns = BindCsvColumns(schema, reader, false);
    while (reader.Next()) {
      const auto fields = CheckedFields(reader, columns);
      for (std::size_t i = 0; i < schema.dense.size(); ++i) {
        if (!IsOpen(schema.dense[i])) continue;
        if (const auto x = ScaledDense(schema, columns, reader, i)) moments[i].Add(*x);
      }
      for (std::size_t f = 0; f < schema.sparse.size(); ++f) {
        if (!IsOpen(schema.sparse[f])) continue;
        CountValues(schema, schema.sparse[f], fields[columns.sparse[f]], counts[first[f]]);
      }
    }
  }
  for (std::size_t p = 0; p < paths.size(); ++p) {  // training reads them again
    if (StampOf(paths[p]) != stamps[p]) Fail("{}: changed since it was first read", paths[p]);
  }
  for (std::size_t i = 0; i < schema.dense.size(); ++i) {
    if (!IsOpen(schema.dense[i])) continue;
    schema.dense[i].mean = moments[i].mean;
    schema.dense[i].std = moments[i].Deviation();
  }
  for (std::size_t f = 0; f < schema.sparse.size(); ++f) {
    SparseColumn& sparse = schema.sparse[f];
    if (!IsOpen(sparse)) continue;
    if (first[f] == f) sparse.vocabulary = MakeVocabulary(counts[f], sparse.min_count);
    sparse.rows = static_cast<std::int64_t>(schema.sparse[first[f]].vocabulary.size()) + 1;
    sparse.fitted = true;
  }
  return schema;
}

}  // namespace hotrow
