#include "hotrow/data/open_source.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/data/criteo_encoder.h"
#include "hotrow/data/csv_encoder.h"
#include "hotrow/data/file_source.h"

namespace hotrow {

DataFormat ParseDataFormat(const std::string& text) {
  if (text == "synthetic") return DataFormat::kSynthetic;
  if (text == "criteo") return DataFormat::kCriteo;
  if (text == "csv") return DataFormat::kCsv;
  Fail("data format: '{}' is none of synthetic, criteo, csv", text);
}

std::shared_ptr<const RecordEncoder> MakeEncoder(const DataSpec& spec) {
  switch (spec.format) {
    case DataFormat::kSynthetic:
      return nullptr;
    case DataFormat::kCriteo:
      return std::make_shared<CriteoEncoder>(spec.rows);
    case DataFormat::kCsv:
      if (!spec.schema)
        Fail("data format csv needs a schema: a TOML file whose [data] table names the columns");
      return std::make_shared<CsvEncoder>(FitCsvSchema(*spec.schema, spec.paths));
  }
  HOTROW_CHECK(false);
  return nullptr;
}

std::shared_ptr<const RecordEncoder> LoadRecordEncoder(const EncoderText& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text.json);
    if (json.at("format") == "criteo") {
      if (json.at("version") != 1)
        Fail("criteo encoder: version {} is unknown to this build", json.at("version").dump());
      return std::make_shared<CriteoEncoder>(json.at("rows").get<std::vector<std::int64_t>>());
    }
    if (json.at("format") != "csv")
      Fail("encoder: format {} is neither criteo nor csv", json.at("format").dump());
  } catch (const nlohmann::json::exception& error) {
    Fail("encoder: damaged JSON: {}", error.what());
  }
  CsvSchema schema = CsvSchemaFromJson(text.json, text.vocabularies);
  for (const SparseColumn& sparse : schema.sparse) {
    if (sparse.encoding == SparseEncoding::kVocabulary && !sparse.fitted) {
      Fail("encoder: feature '{}' has no vocabulary", sparse.name);
    }
  }
  for (const DenseColumn& dense : schema.dense) {
    if (dense.transform == DenseTransform::kStandardize && !(dense.mean && dense.std)) {
      Fail("encoder: column '{}' has no mean and standard deviation", dense.column);
    }
  }
  return std::make_shared<CsvEncoder>(std::move(schema));
}

std::unique_ptr<BatchSource> OpenSource(const DataSpec& spec, std::shared_ptr<const RecordEncoder> encoder,
                                        ThreadPool* pool) {
  if (spec.format == DataFormat::kSynthetic) {
    SyntheticConfig config;
    config.rows = spec.rows;
    config.bag_sizes = spec.bag_sizes;
    config.num_dense = spec.num_dense;
    config.ids = spec.ids;
    config.seed = spec.seed;
    config.samples = spec.samples;
    return std::make_unique<SyntheticSource>(std::move(config), pool);
  }
  HOTROW_CHECK(encoder != nullptr);
  return OpenFileSource(std::move(encoder), {.paths = spec.paths,
                                             .shuffle = spec.shuffle,
                                             .seed = spec.seed,
                                             .need_labels = spec.need_labels,
                                             .refuse_bad_ids = spec.refuse_bad_ids,
                                             .pipes = spec.pipes});
}

}  // namespace hotrow
