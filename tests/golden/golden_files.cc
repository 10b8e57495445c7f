#include "tests/golden/golden_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>

#include "hotrow/reference/convert.h"

namespace hotrow::golden {
namespace {

namespace fs = std::filesystem;

std::string Metadata(const SafetensorsReader& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) throw std::runtime_error(file.path() + ": no metadata '" + key + "'");
  return found->second;
}

KeyedJaggedTensor ReadBatch(SafetensorsReader& file, const std::string& prefix,
                            const std::vector<std::string>& features) {
  KeyedJaggedTensor batch(features);
  const auto& shape = file.Info(prefix + "lengths").shape;
  if (shape.size() != 2 || shape[0] != static_cast<std::int64_t>(features.size())) {
    throw std::runtime_error(file.path() + ": " + prefix + "lengths is not [features, samples]");
  }
  std::vector<float> weights;
  if (file.Has(prefix + "weights")) weights = file.ReadF32(prefix + "weights");
  batch.ResetJagged(shape[1], file.ReadI32(prefix + "lengths"), file.ReadI64(prefix + "values"), weights);
  return batch;
}

// "a" for names "a.SUFFIX": the cases of a file that holds several.
std::set<std::string> Prefixes(const SafetensorsReader& file, const std::string& suffix) {
  std::set<std::string> prefixes;
  for (const auto& [name, info] : file.tensors()) {
    if (name.ends_with(suffix)) prefixes.insert(name.substr(0, name.size() - suffix.size()));
  }
  return prefixes;
}

reference::Tensors ReadAll(SafetensorsReader& file, const std::string& prefix) {
  reference::Tensors tensors;
  for (const auto& [name, info] : file.tensors()) {
    if (name.starts_with(prefix)) tensors[name.substr(prefix.size())] = ReadTensor(file, name);
  }
  return tensors;
}

OptimizerConfig RunOptimizer(const SafetensorsReader& file) {
  OptimizerConfig config;
  config.learning_rate = std::stof(Metadata(file, "lr"));
  if (file.metadata().contains("eps")) config.eps = std::stof(Metadata(file, "eps"));
  const std::string stem = fs::path(file.path()).stem().string();
  const std::string name = file.metadata().contains("optimizer") ? Metadata(file, "optimizer") : stem;
  // Longest names first: "…_rowwise_adagrad" ends in "adagrad" too.
  static const std::vector<std::pair<std::string, OptimizerKind>> kKinds = {
      {"row_wise_adagrad", OptimizerKind::kRowWiseAdagrad},
      {"rowwise_adagrad", OptimizerKind::kRowWiseAdagrad},
      {"adagrad", OptimizerKind::kAdagrad},
      {"adam", OptimizerKind::kAdam},
      {"sgd", OptimizerKind::kSgd}};
  for (const auto& [ending, kind] : kKinds) {
    if (!name.ends_with(ending)) continue;
    config.kind = kind;
    return config;
  }
  throw std::runtime_error(file.path() + ": neither the metadata nor the file's name tells the optimizer");
}

ModelConfig RunModel(const SafetensorsReader& file) {
  ModelConfig model;
  const std::string kind = Metadata(file, "model");
  if (kind != "DLRM" && kind != "DLRM_DCN") throw std::runtime_error(file.path() + ": unknown model " + kind);
  model.interaction = kind == "DLRM" ? Interaction::kDot : Interaction::kCross;
  model.dense_arch.clear();
  model.over_arch.clear();
  const auto shape = [&](const std::string& name) { return file.Info("init." + name).shape; };
  const auto sizes = [&](const std::string& prefix, std::vector<std::int64_t>& out) {
    for (int l = 0; file.Has("init." + prefix + std::to_string(l) + "._linear.weight"); ++l) {
      out.push_back(shape(prefix + std::to_string(l) + "._linear.weight")[0]);
    }
  };
  sizes("dense_arch.model._mlp.", model.dense_arch);
  sizes("over_arch.model.0._mlp.", model.over_arch);
  model.over_arch.push_back(shape("over_arch.model.1.weight")[0]);
  model.num_dense = shape("dense_arch.model._mlp.0._linear.weight")[1];
  model.dcn_num_layers = 0;
  for (int l = 0; file.Has("init.inter_arch.crossnet.V_kernels." + std::to_string(l)); ++l) {
    model.dcn_low_rank = shape("inter_arch.crossnet.V_kernels." + std::to_string(l))[0];
    ++model.dcn_num_layers;
  }
  const auto rows = nlohmann::json::parse(Metadata(file, "rows")).get<std::vector<std::int64_t>>();
  for (std::size_t f = 0; f < rows.size(); ++f) {
    const std::string feature = fmt::format("f{}", f);
    model.features.push_back(feature);
    model.tables.push_back({.name = fmt::format("t_{}", feature),
                            .num_embeddings = rows[f],
                            .embedding_dim = std::stoll(Metadata(file, "embedding_dim")),
                            .feature_names = {feature}});
  }
  return model;
}

}  // namespace

std::string Directory() {
  const char* set = std::getenv("HOTROW_GOLDEN_DIR");
  if (set == nullptr || *set == '\0') return HOTROW_TEST_SOURCE_DIR "/golden/data";
  if (fs::is_directory(set)) return set;
  const fs::path in_project = fs::path(HOTROW_TEST_SOURCE_DIR).parent_path() / set;
  if (fs::is_directory(in_project)) return in_project.string();
  throw std::runtime_error(fmt::format("HOTROW_GOLDEN_DIR: {} is not a directory", set));
}

std::vector<std::string> AllFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(Directory())) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  if (files.empty()) throw std::runtime_error(Directory() + ": no *.safetensors files");
  std::sort(files.begin(), files.end());
  return files;
}

Kind KindOf(const SafetensorsReader& file) {
  if (file.metadata().contains("model")) return Kind::kTrainingRun;
  if (!Prefixes(file, ".pooled").empty()) return Kind::kPooling;
  if (!Prefixes(file, ".init.0").empty()) return Kind::kSparseOptimizers;
  if (!Prefixes(file, ".recat").empty() || file.Has("bucketize.values")) return Kind::kInputDist;
  if (file.Has("auc")) return Kind::kAuc;
  return Kind::kUnknown;
}

std::vector<std::string> Files(Kind kind) {
  std::vector<std::string> files;
  for (const std::string& path : AllFiles()) {
    if (KindOf(SafetensorsReader(path)) == kind) files.push_back(path);
  }
  return files;
}

reference::Tensor ReadTensor(SafetensorsReader& file, const std::string& name) {
  return reference::ToTensor(file.Info(name).shape, file.ReadF32(name));
}

TrainingRun ReadTrainingRun(const std::string& path) {
  SafetensorsReader file(path);
  TrainingRun run;
  run.model = RunModel(file);
  run.optimizer = RunOptimizer(file);
  SetOptimizer(run.model.tables, run.optimizer);
  run.initial = ReadAll(file, "init.");
  run.first_gradients = ReadAll(file, "grad0.");
  run.final = ReadAll(file, "final.");
  const int steps = std::stoi(Metadata(file, "steps"));
  for (int k = 0; k < steps; ++k) {
    const std::string prefix = fmt::format("step{}.", k);
    TrainingRun::Step step;
    step.batch.sparse = ReadBatch(file, prefix, run.model.features);
    step.batch.size = step.batch.sparse.batch_size();
    step.batch.dense = file.ReadF32(prefix + "dense");
    for (const std::int32_t label : file.ReadI32(prefix + "labels")) {
      step.batch.labels.push_back(static_cast<float>(label));
    }
    step.logits = file.ReadF32(prefix + "logits");
    step.loss = static_cast<double>(file.ReadF32(prefix + "loss").at(0));
    run.steps.push_back(std::move(step));
  }
  return run;
}

std::vector<PoolingCase> ReadPoolingCases(const std::string& path) {
  SafetensorsReader file(path);
  std::vector<PoolingCase> cases;
  for (const std::string& name : Prefixes(file, ".pooled")) {
    PoolingCase c;
    c.name = name;
    // "x,y -> table a; z -> table b"
    std::istringstream groups(Metadata(file, "keys"));
    for (std::string group; std::getline(groups, group, ';');) {
      std::istringstream words(group);
      std::string keys, arrow, word, table;
      words >> keys >> arrow >> word >> table;
      if (arrow != "->" || word != "table") throw std::runtime_error(path + ": cannot read keys: " + group);
      c.weights.push_back(ReadTensor(file, name + ".table." + table));
      c.gradients.push_back(ReadTensor(file, name + ".grad." + table));
      EmbeddingTableConfig config{
          .name = table,
          .num_embeddings = c.weights.back().shape.at(0),
          .embedding_dim = c.weights.back().shape.at(1),
          .pooling = name.starts_with("mean") ? PoolingType::kMean : PoolingType::kSum,
          .feature_names = {}};
      std::istringstream list(keys);
      for (std::string key; std::getline(list, key, ',');) {
        config.feature_names.push_back(key);
        c.features.push_back(key);
      }
      c.tables.push_back(config);
    }
    c.batch = ReadBatch(file, name + ".", c.features);
    c.pooled = file.ReadF32(name + ".pooled");
    c.output_gradient = file.ReadF32(name + ".grad_out");
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<SparseOptimizerCase> ReadSparseOptimizerCases(const std::string& path) {
  SafetensorsReader file(path);
  std::vector<SparseOptimizerCase> cases;
  for (const std::string& name : Prefixes(file, ".init.0")) {
    SparseOptimizerCase c;
    c.name = name;
    c.optimizer.learning_rate = std::stof(Metadata(file, "lr"));
    c.optimizer.eps = std::stof(Metadata(file, "eps"));
    if (name == "exact_adagrad") {
      c.optimizer.kind = OptimizerKind::kAdagrad;
    } else if (name == "exact_row_wise_adagrad") {
      c.optimizer.kind = OptimizerKind::kRowWiseAdagrad;
    } else if (name == "exact_sgd") {
      c.optimizer.kind = OptimizerKind::kSgd;
    } else {
      throw std::runtime_error(path + ": unknown optimizer " + name);
    }
    for (int t = 0; file.Has(name + ".init." + std::to_string(t)); ++t) {
      const std::string number = std::to_string(t);
      const std::string feature = fmt::format("f{}", t);
      c.initial.push_back(ReadTensor(file, name + ".init." + number));
      c.final.push_back(ReadTensor(file, name + ".final." + number));
      if (c.optimizer.kind != OptimizerKind::kSgd)
        c.state.push_back(ReadTensor(file, name + ".state." + number));
      c.features.push_back(feature);
      c.tables.push_back({.name = fmt::format("t{}", t),
                          .num_embeddings = c.initial.back().shape.at(0),
                          .embedding_dim = c.initial.back().shape.at(1),
                          .feature_names = {feature}});
    }
    for (int k = 0; file.Has(fmt::format("{}.step{}.values", name, k)); ++k) {
      const std::string prefix = fmt::format("{}.step{}.", name, k);
      c.steps.push_back({ReadBatch(file, prefix, c.features), file.ReadF32(prefix + "grad_out")});
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace hotrow::golden
