#include "hotrow/run/saved_model.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/data/open_source.h"
#include "hotrow/files/file_stamp.h"
#include "hotrow/train/model_file.h"

namespace hotrow {

namespace {

// A file whose model and encoder were not made together would look up ids in the wrong tables.
void CheckEncoder(const ModelConfig& model, const DataDescription& data) {
  if (data.num_dense != model.num_dense) {
    Fail("gives {} dense inputs, the model has {}", data.num_dense, model.num_dense);
  }
  if (data.features.size() != model.features.size()) {
    Fail("gives {} features, the model has {}", data.features.size(), model.features.size());
  }
  for (std::size_t f = 0; f < model.features.size(); ++f) {
    const SparseFeature& feature = data.features[f];
    if (feature.name != model.features[f]) {
      Fail("feature {} is '{}', in the model '{}'", f, feature.name, model.features[f]);
    }
    for (const EmbeddingTableConfig& table : model.tables) {
      const auto& names = table.feature_names;
      if (std::find(names.begin(), names.end(), feature.name) == names.end()) continue;
      if (feature.rows > table.num_embeddings) {
        Fail("feature '{}' has {} ids, its table '{}' {} rows", feature.name, feature.rows, table.name,
             table.num_embeddings);
      }
    }
  }
}

std::shared_ptr<const RecordEncoder> ReadEncoder(const ModelFileInfo& info, const std::string& file) {
  const auto text = info.metadata.find("hotrow.encoder");
  if (text == info.metadata.end()) {
    Fail("{}: trained on generated data: there are no files of its kind", file);
  }
  try {
    std::shared_ptr<const RecordEncoder> encoder = RecordEncoderFromJson(text->second);
    CheckEncoder(info.model, encoder->description());
    return encoder;
  } catch (const Error& error) {
    Fail("{}: hotrow.encoder: {}", file, error.what());
  }
}

}  // namespace

SavedModel OpenSavedModel(const RunConfig& run, bool need_labels, ThreadPool& pool) {
  if (run.files.model.empty()) Fail("--model: missing; it names a file that `hotrow train --save` wrote");
  if (run.data.files.empty()) Fail("--data: missing");
  const FileStamp stamp = StampOf(run.files.model);
  ModelFileInfo info = ReadModelInfo(run.files.model);
  const std::shared_ptr<const RecordEncoder> encoder = ReadEncoder(info, run.files.model);
  DataSpec spec;
  spec.format = DataFormat::kCsv;  // of a text format; which one is the encoder's business
  spec.paths = run.data.files;
  spec.need_labels = need_labels;
  spec.refuse_bad_ids = run.data.bad_ids == BadIds::kError;
  SavedModel saved;
  saved.source = OpenSource(spec, encoder);

  TrainerConfig config;
  config.model = std::move(info.model);
  SetOptimizer(config.model.tables, {.kind = OptimizerKind::kSgd});  // keeps no state
  config.dense_optimizer.kind = OptimizerKind::kSgd;
  config.bad_ids = run.data.bad_ids;
  config.storage = StorageKind::kEager;
  config.seed = run.common.seed;
  saved.trainer = std::make_unique<Trainer>(config, pool);
  LoadModel(*saved.trainer, run.files.model);
  // The weights of one model and the vocabularies of another fit one another in size.
  if (StampOf(run.files.model) != stamp) Fail("{}: changed while it was read", run.files.model);
  return saved;
}

}  // namespace hotrow
