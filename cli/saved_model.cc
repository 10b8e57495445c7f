#include "cli/saved_model.h"

#include <algorithm>

#include "cli/cli11.h"
#include "cli/config_file.h"
#include "hotrow/base/error.h"
#include "hotrow/files/file_stamp.h"
#include "hotrow/train/model_file.h"

namespace hotrow::cli {

void AddSavedModelFlags(CLI::App& app, SavedModelFlags& flags) {
  AddCommonFlags(app, flags.common);
  app.add_option("--model", flags.model, "Model that `train --save` wrote")->type_name("FILE");
  AddPathsFlag(app, "--data", "Files, read in this order", flags.data.data);
  app.add_option("--batch-size", flags.batch_size, "Samples at a time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--bad-ids", flags.bad_ids, "An id outside its table: error, skip or wrap")
      ->capture_default_str();
}

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

SavedModel OpenSavedModel(const SavedModelFlags& flags, bool need_labels, ThreadPool& pool) {
  if (flags.model.empty()) Fail("--model: missing; it names a file that `hotrow train --save` wrote");
  if (flags.data.data.empty()) Fail("--data: missing");
  const BadIds bad_ids = ParseBadIds(flags.bad_ids);
  const FileStamp stamp = StampOf(flags.model);
  ModelFileInfo info = ReadModelInfo(flags.model);
  const std::shared_ptr<const RecordEncoder> encoder = ReadEncoder(info, flags.model);
  DataSpec spec;
  spec.format = DataFormat::kCsv;  // of a text format; which one is the encoder's business
  spec.paths = flags.data.data;
  spec.need_labels = need_labels;
  spec.refuse_bad_ids = bad_ids == BadIds::kError;
  SavedModel saved;
  saved.source = OpenSource(spec, encoder);

  TrainerConfig config;
  config.model = std::move(info.model);
  SetOptimizer(config.model.tables, {.kind = OptimizerKind::kSgd});  // keeps no state
  config.dense_optimizer.kind = OptimizerKind::kSgd;
  config.bad_ids = bad_ids;
  config.storage = ParseTableStorage("eager", 0);
  config.seed = flags.common.seed;
  saved.trainer = std::make_unique<Trainer>(config, pool);
  LoadModel(*saved.trainer, flags.model);
  // The weights of one model and the vocabularies of another fit one another in size.
  if (StampOf(flags.model) != stamp) Fail("{}: changed while it was read", flags.model);
  return saved;
}

}  // namespace hotrow::cli
