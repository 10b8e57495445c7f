#pragma once
// Where batches come from, chosen by name: what the command line's data flags say, as plain data.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/data/csv_schema.h"
#include "hotrow/data/record_encoder.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

enum class DataFormat { kSynthetic, kCriteo, kCsv };
/// Parses "synthetic", "criteo", "csv"; throws Error listing them.
DataFormat ParseDataFormat(const std::string& text);

struct DataSpec {
  DataFormat format = DataFormat::kSynthetic;
  std::uint64_t seed = 0;  ///< of the shuffle, or of synthetic numbers

  // criteo and csv
  std::vector<std::string> paths = {};
  std::optional<CsvSchema> schema = {};  ///< csv: what the columns mean, not fitted yet
  bool shuffle = false;                  ///< in memory, in another order each epoch; off: streamed
  bool need_labels = true;               ///< off for prediction: a file may lack its labels
  bool refuse_bad_ids = false;  ///< on: an id outside its table is an error naming file, line and column
  bool pipes = false;           ///< on: a path may be a pipe, or "-" for stdin, which is read once

  // criteo and synthetic
  std::vector<std::int64_t> rows = {};  ///< of each table

  // synthetic
  std::vector<std::int32_t> bag_sizes = {};
  std::int64_t num_dense = 13;
  IdDistribution ids = {};
  std::optional<std::int64_t> samples = {};  ///< an epoch's; none: endless
};

/// What training fixes about a text format: for csv, fits the schema on spec.paths, the training
/// files. Null for synthetic data. Throws Error naming what is missing or wrong.
std::shared_ptr<const RecordEncoder> MakeEncoder(const DataSpec& spec);

/// The encoder whose Save gave `text`. Throws Error where the text is something else.
std::shared_ptr<const RecordEncoder> LoadRecordEncoder(const EncoderText& text);

/// Opens the source of `spec`. Text formats need `encoder`: the training source's own, so that evaluation
/// sees the same vocabularies. `pool` may be null; it makes synthetic batches.
std::unique_ptr<BatchSource> OpenSource(const DataSpec& spec, std::shared_ptr<const RecordEncoder> encoder,
                                        ThreadPool* pool = nullptr);

}  // namespace hotrow
