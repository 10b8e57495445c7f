#include "hotrow/train/model_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/interrupted.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/data/open_source.h"
#include "hotrow/files/safetensors.h"

namespace hotrow {
namespace {

using Json = nlohmann::ordered_json;

// 2: each table has its optimizer and initial values. 1 had neither, and one embedding_dim for all.
constexpr int kModelVersion = 2;

constexpr std::int64_t kBlockFloats = std::int64_t{1} << 20;

std::string TableTensorName(const EmbeddingTableConfig& table) {
  return "sparse_arch.embedding_bag_collection.embedding_bags." + table.name + ".weight";
}

std::int64_t BlockRows(std::int64_t dim) { return std::max<std::int64_t>(1, kBlockFloats / dim); }

// TorchRec's shape of a dense parameter.
std::vector<std::int64_t> Shape(const Parameter& p) {
  if (p.vector) return {p.size()};
  if (p.transposed) return {p.columns, p.rows};
  return {p.rows, p.columns};
}

void CheckFinite(const std::vector<float>& values, const std::string& file, const std::string& tensor) {
  for (const float value : values) {
    if (!std::isfinite(value)) Fail("{}: tensor {}: holds {}, weights are finite", file, tensor, value);
  }
}

void CheckShape(const SafetensorsReader& file, const std::string& name,
                const std::vector<std::int64_t>& shape) {
  const TensorInfo& info = file.Info(name);
  if (info.type != TensorType::kF32) Fail("{}: tensor {}: its type is not F32", file.path(), name);
  if (info.shape != shape) {
    Fail("{}: tensor {}: shape {} is not the model's {}", file.path(), name, Json(info.shape).dump(),
         Json(shape).dump());
  }
}

constexpr const char* kModelKey = "hotrow.model";
constexpr const char* kEncoderKey = "hotrow.encoder";
constexpr const char* kVocabulary = "hotrow.vocabulary.";
constexpr const char* kOffsets = ".offsets";
constexpr const char* kBytes = ".bytes";

// Where each text begins, and the last ends.
std::vector<std::int64_t> OffsetsOf(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::string& text : texts) offsets.push_back(offsets.back() + std::ssize(text));
  return offsets;
}

// What the file holds, in its order: wider types first, so that all are aligned.
std::vector<SafetensorsWriter::Tensor> Tensors(Trainer& trainer, const Vocabularies& vocabularies) {
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const auto& [feature, texts] : vocabularies) {
    tensors.push_back({kVocabulary + feature + kOffsets, {std::ssize(texts) + 1}, TensorType::kI64});
  }
  for (const EmbeddingTableConfig& table : trainer.config().model.tables) {
    tensors.push_back({TableTensorName(table), {table.num_embeddings, table.embedding_dim}});
  }
  for (const Parameter& p : std::as_const(trainer.tower()).parameters().list())
    tensors.push_back({p.name, Shape(p)});
  for (const auto& [feature, texts] : vocabularies) {
    tensors.push_back({kVocabulary + feature + kBytes, {OffsetsOf(texts).back()}, TensorType::kU8});
  }
  return tensors;
}

void AppendOffsets(const Vocabularies& vocabularies, SafetensorsWriter& writer) {
  for (const auto& [feature, texts] : vocabularies) {
    const std::vector<std::int64_t> offsets = OffsetsOf(texts);
    writer.Append(offsets.data(), std::ssize(offsets));
  }
}

void AppendTexts(const Vocabularies& vocabularies, SafetensorsWriter& writer) {
  for (const auto& [feature, texts] : vocabularies) {
    for (const std::string& text : texts) writer.Append(text.data(), std::ssize(text));
  }
}

std::vector<std::string> ReadTexts(SafetensorsReader& file, const std::string& feature) {
  const std::string name = kVocabulary + feature + kOffsets;
  const std::vector<std::int64_t> offsets = file.ReadI64(name);
  const std::vector<char> bytes = file.ReadU8(kVocabulary + feature + kBytes);
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != std::ssize(bytes) ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    Fail("{}: tensor {}: does not cut the {} bytes of the vocabulary into texts", file.path(), name,
         bytes.size());
  }
  std::vector<std::string> texts;
  texts.reserve(offsets.size() - 1);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    texts.emplace_back(bytes.begin() + offsets[i], bytes.begin() + offsets[i + 1]);
  }
  return texts;
}

// Features whose vocabularies are tensors.
std::vector<std::string> FeaturesWithTexts(const SafetensorsReader& file) {
  const std::string_view prefix = kVocabulary;
  const std::string_view suffix = kOffsets;
  std::vector<std::string> features;
  for (const auto& [name, info] : file.tensors()) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    features.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  }
  return features;
}

std::map<std::string, std::string> Metadata(const Trainer& trainer, const EncoderText& encoder) {
  std::map<std::string, std::string> metadata = {{"format", "pt"},
                                                 {kModelKey, ModelConfigToJson(trainer.config().model)}};
  if (!encoder.json.empty()) metadata[kEncoderKey] = encoder.json;
  return metadata;
}

EncoderText TextOf(const RecordEncoder* encoder) { return encoder ? encoder->Save() : EncoderText{}; }

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

// Null where the file has none.
std::shared_ptr<const RecordEncoder> ReadEncoder(SafetensorsReader& file, const ModelConfig& model) {
  const auto json = file.metadata().find(kEncoderKey);
  if (json == file.metadata().end()) return nullptr;
  EncoderText text{.json = json->second};
  for (const std::string& feature : FeaturesWithTexts(file)) {
    text.vocabularies.emplace(feature, ReadTexts(file, feature));
  }
  try {
    std::shared_ptr<const RecordEncoder> encoder = LoadRecordEncoder(text);
    CheckEncoder(model, encoder->description());
    return encoder;
  } catch (const Error& error) {
    Fail("{}: {}: {}", file.path(), kEncoderKey, error.what());
  }
}

// Collective: where one rank leaves, all do.
void ThrowIfAnyInterrupted(Communicator& comm, const std::atomic<bool>* interrupted) {
  const bool here = interrupted != nullptr && interrupted->load();
  if (AllReduceMax(comm, here ? 1 : 0) > 0) throw Interrupted();
}

}  // namespace

namespace {

Json ToJson(const OptimizerConfig& optimizer) {
  return {{"kind", ToString(optimizer.kind)},
          {"learning_rate", optimizer.learning_rate},
          {"eps", optimizer.eps},
          {"beta1", optimizer.beta1},
          {"beta2", optimizer.beta2},
          {"initial_accumulator", optimizer.initial_accumulator},
          {"weight_decay", optimizer.weight_decay},
          {"weight_decay_mode", ToString(optimizer.weight_decay_mode)}};
}

OptimizerConfig OptimizerFromJson(const Json& json) {
  OptimizerConfig optimizer;
  optimizer.kind = ParseOptimizerKind(json.at("kind").get<std::string>());
  json.at("learning_rate").get_to(optimizer.learning_rate);
  json.at("eps").get_to(optimizer.eps);
  json.at("beta1").get_to(optimizer.beta1);
  json.at("beta2").get_to(optimizer.beta2);
  json.at("initial_accumulator").get_to(optimizer.initial_accumulator);
  json.at("weight_decay").get_to(optimizer.weight_decay);
  optimizer.weight_decay_mode = ParseWeightDecayMode(json.at("weight_decay_mode").get<std::string>());
  return optimizer;
}

Json ToJson(const EmbeddingTableConfig& table) {
  return {{"name", table.name},
          {"num_embeddings", table.num_embeddings},
          {"embedding_dim", table.embedding_dim},
          {"pooling", ToString(table.pooling)},
          {"feature_names", table.feature_names},
          {"optimizer", ToJson(table.optimizer)},
          {"init", ToString(table.init)}};
}

EmbeddingTableConfig TableFromJson(const Json& json, int version) {
  EmbeddingTableConfig table;
  json.at("name").get_to(table.name);
  json.at("num_embeddings").get_to(table.num_embeddings);
  json.at("embedding_dim").get_to(table.embedding_dim);
  table.pooling = ParsePoolingType(json.at("pooling").get<std::string>());
  json.at("feature_names").get_to(table.feature_names);
  if (version == 1) return table;
  table.optimizer = OptimizerFromJson(json.at("optimizer"));
  table.init = ParseTableInit(json.at("init").get<std::string>());
  return table;
}

}  // namespace

std::string ModelConfigToJson(const ModelConfig& config) {
  Json tables = Json::array();
  for (const EmbeddingTableConfig& table : config.tables) tables.push_back(ToJson(table));
  const Json json = {{"version", kModelVersion},
                     {"model", ToString(config.interaction)},
                     {"num_dense", config.num_dense},
                     {"dense_arch", config.dense_arch},
                     {"over_arch", config.over_arch},
                     {"dcn_num_layers", config.dcn_num_layers},
                     {"dcn_low_rank", config.dcn_low_rank},
                     {"features", config.features},
                     {"tables", tables}};
  return json.dump();
}

ModelConfig ModelConfigFromJson(const std::string& text, const std::string& file) {
  try {
    const Json json = Json::parse(text);
    const int version = json.at("version").get<int>();
    if (version < 1 || version > kModelVersion) {
      Fail("version {} is unknown to this build, valid: 1, {}", version, kModelVersion);
    }
    ModelConfig config;
    config.interaction = ParseInteraction(json.at("model").get<std::string>());
    json.at("num_dense").get_to(config.num_dense);
    json.at("dense_arch").get_to(config.dense_arch);
    json.at("over_arch").get_to(config.over_arch);
    json.at("dcn_num_layers").get_to(config.dcn_num_layers);
    json.at("dcn_low_rank").get_to(config.dcn_low_rank);
    json.at("features").get_to(config.features);
    for (const Json& item : json.at("tables")) config.tables.push_back(TableFromJson(item, version));
    Validate(config);
    return config;
  } catch (const Json::exception& e) {
    Fail("{}: hotrow.model is not a model configuration: {}", file, e.what());
  } catch (const Error& e) {
    Fail("{}: hotrow.model: {}", file, e.what());
  }
}

std::int64_t CheckSave(Trainer& trainer, const std::string& path, const RecordEncoder* encoder) {
  const EncoderText text = TextOf(encoder);
  return SafetensorsWriter::Check(path, Tensors(trainer, text.vocabularies), Metadata(trainer, text));
}

void SaveModel(Trainer& trainer, const std::string& path, const RecordEncoder* encoder,
               const SaveObserver& observer) {
  const Parameters& parameters = std::as_const(trainer.tower()).parameters();
  const bool writes = trainer.comm().rank() == 0;
  std::optional<SafetensorsWriter> writer;
  const EncoderText text = writes ? TextOf(encoder) : EncoderText{};
  if (writes) {
    writer.emplace(path, Tensors(trainer, text.vocabularies), Metadata(trainer, text));
    AppendOffsets(text.vocabularies, *writer);
  }
  std::vector<float> block;
  for (std::int64_t t = 0; t < trainer.embeddings().num_tables(); ++t) {
    const std::int64_t rows = trainer.embeddings().table_config(t).num_embeddings;
    const std::int64_t dim = trainer.embeddings().table_config(t).embedding_dim;
    for (std::int64_t first = 0; first < rows; first += BlockRows(dim)) {
      const std::int64_t count = std::min(BlockRows(dim), rows - first);
      if (writes) block.resize(static_cast<std::size_t>(count * dim));
      trainer.embeddings().ReadRows(t, first, count, block.data());
      if (writes) writer->Append(block.data(), count * dim);
      if (writes && observer.on_progress)
        observer.on_progress(writer->appended_bytes(), writer->file_bytes());
      ThrowIfAnyInterrupted(trainer.comm(), observer.interrupted);
    }
  }
  if (writes) {
    for (std::size_t i = 0; i < parameters.list().size(); ++i) {
      block.resize(static_cast<std::size_t>(parameters.list()[i].size()));
      parameters.Export(static_cast<std::int64_t>(i), parameters.weights(), block);
      writer->Append(block.data(), static_cast<std::int64_t>(block.size()));
    }
    AppendTexts(text.vocabularies, *writer);
    writer->Finish();
  }
  trainer.comm().Barrier();
}

ModelFileInfo ReadModelInfo(const std::string& path) {
  SafetensorsReader file(path);
  const auto json = file.metadata().find(kModelKey);
  if (json == file.metadata().end()) Fail("{}: not a Hotrow model: its metadata has no {}", path, kModelKey);
  ModelFileInfo info;
  info.model = ModelConfigFromJson(json->second, path);
  info.encoder = ReadEncoder(file, info.model);
  return info;
}

const std::shared_ptr<const RecordEncoder>& EncoderOf(const ModelFileInfo& info, const std::string& path) {
  if (info.encoder == nullptr) Fail("{}: trained on generated data: there are no files of its kind", path);
  return info.encoder;
}

void LoadModel(Trainer& trainer, const std::string& path) {
  SafetensorsReader file(path);
  ShardedEmbeddingBagCollection& embeddings = trainer.embeddings();
  Parameters& parameters = trainer.tower().parameters();
  // All of them before the first is written: a file that does not fit leaves the trainer as it was.
  for (std::int64_t t = 0; t < embeddings.num_tables(); ++t) {
    const EmbeddingTableConfig& table = embeddings.table_config(t);
    CheckShape(file, TableTensorName(table), {table.num_embeddings, table.embedding_dim});
  }
  for (const Parameter& p : parameters.list()) CheckShape(file, p.name, Shape(p));

  std::vector<float> block;
  for (std::int64_t t = 0; t < embeddings.num_tables(); ++t) {
    const std::int64_t rows = embeddings.table_config(t).num_embeddings;
    const std::int64_t dim = embeddings.table_config(t).embedding_dim;
    const std::string name = TableTensorName(embeddings.table_config(t));
    for (std::int64_t first = 0; first < rows; first += BlockRows(dim)) {
      const std::int64_t count = std::min(BlockRows(dim), rows - first);
      block.resize(static_cast<std::size_t>(count * dim));
      file.Read(name, first * dim, count * dim, block.data());
      CheckFinite(block, path, name);
      embeddings.WriteRows(t, first, count, block.data());
    }
  }
  trainer.comm().Barrier();  // thread ranks share the weights, and one may still predict with them
  for (std::size_t i = 0; i < parameters.list().size(); ++i) {
    const Parameter& p = parameters.list()[i];
    block = file.ReadF32(p.name);
    CheckFinite(block, path, p.name);
    if (trainer.dense().owns_weights())
      parameters.Import(static_cast<std::int64_t>(i), block, parameters.weights());
  }
  trainer.dense().Repack();
}

}  // namespace hotrow
