#include "tests/support/engine_model.h"

#include <fmt/core.h>

#include <numeric>

#include "hotrow/base/size.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/reference/convert.h"

namespace hotrow::reference {
namespace {

std::vector<std::int64_t> ShapeOf(const Parameter& p) {
  if (p.vector) return {p.columns};
  return p.transposed ? std::vector{p.columns, p.rows} : std::vector{p.rows, p.columns};
}

Tensor ExportParameter(const Parameters& parameters, std::size_t index, const float* flat) {
  const Parameter& p = parameters.list()[index];
  std::vector<float> values(static_cast<std::size_t>(p.size()));
  parameters.Export(static_cast<std::int64_t>(index), flat, values);
  return ToTensor(ShapeOf(p), values);
}

}  // namespace

Tensor ReadTable(const EmbeddingTable& table) {
  std::vector<float> rows(static_cast<std::size_t>(table.rows() * table.dim()));
  table.ReadRows(0, table.rows(), rows.data());
  return ToTensor({table.rows(), table.dim()}, rows);
}

void WriteTable(EmbeddingTable& table, const Tensor& tensor) {
  const std::vector<float> rows(tensor.data.begin(), tensor.data.end());
  table.WriteRows(0, table.rows(), rows.data());
}

std::string Describe(const TrainerConfig& config, int threads) {
  return fmt::format(
      "{} {} {} threads {} units", config.kernel == BackwardKernel::kFused ? "fused" : "unfused",
      config.storage == StorageKind::kEager ? "eager" : "lazy", threads, config.reduction_units);
}

EngineModel::EngineModel(const TrainerConfig& config, int threads)
    : pool_(threads), trainer_(config, pool_) {}

EngineModel::StepResult EngineModel::Step(hotrow::Batch batch) {
  StepResult result;
  result.loss = trainer_.Step(batch);
  const auto logits = trainer_.last_logits();
  result.logits.assign(logits.begin(), logits.end());
  return result;
}

EngineModel::Gradients EngineModel::Differentiate(const hotrow::Batch& batch, std::int64_t units) {
  const ModelConfig& model = trainer_.config().model;
  const std::vector<std::int64_t> dims = model.FeatureDims();
  const std::int64_t width = model.InteractionWidth();
  std::vector<float> x(static_cast<std::size_t>(batch.size * width));
  std::vector<float> logits(static_cast<std::size_t>(batch.size));
  Gradients result;
  std::vector<PooledPlace> places;
  FeatureMajorPlaces(batch.size, dims, places);
  result.dpooled.resize(static_cast<std::size_t>(batch.size * (width - model.dense_dim())));
  double total_weight = static_cast<double>(batch.size);
  if (!batch.sample_weights.empty()) {
    total_weight = std::accumulate(batch.sample_weights.begin(), batch.sample_weights.end(), 0.0);
  }
  ShardedEmbeddingBagCollection::Context context = trainer_.embeddings().MakeContext();
  trainer_.embeddings().StartInputDist(batch.sparse, context);
  trainer_.embeddings().FinishInputDist(context);
  trainer_.embeddings().Forward(context, {x.data(), SampleMajorPlaces(dims, model.dense_dim())});

  const Tower& tower = trainer_.tower();
  const Parameters& parameters = tower.parameters();
  for (const Parameter& p : parameters.list()) result.dense[p.name] = Zeros(ShapeOf(p));
  for (std::int64_t u = 0; u < units; ++u) {
    const Slice rows = EvenSlice(batch.size, units, u);
    if (rows.size() == 0) continue;
    TowerBatch unit;
    unit.rows = rows.size();
    unit.dense = batch.dense.data() + rows.begin * model.num_dense;
    unit.x = x.data() + rows.begin * width;
    unit.labels = batch.labels.data() + rows.begin;
    if (!batch.sample_weights.empty()) unit.sample_weights = batch.sample_weights.data() + rows.begin;
    unit.dpooled = {result.dpooled.data(), places};
    unit.first_pooled = rows.begin;
    unit.logits = logits.data() + rows.begin;
    unit.gradient_scale = total_weight > 0 ? 1.0 / total_weight : 0.0;
    Buffer<float> gradient(parameters.padded_size());
    const auto workspace = tower.MakeWorkspace(unit.rows);
    tower.ForwardBackward(unit, gradient.span(), *workspace);
    for (std::size_t i = 0; i < parameters.list().size(); ++i) {
      const Tensor part = ExportParameter(parameters, i, gradient.data());
      Tensor& total = result.dense.at(parameters.list()[i].name);
      for (std::size_t k = 0; k < part.data.size(); ++k) total.data[k] += part.data[k];
    }
  }
  return result;
}

void EngineModel::SetParameters(const Tensors& parameters) {
  Parameters& dense = trainer_.tower().parameters();
  for (std::size_t i = 0; i < dense.list().size(); ++i) {
    const Tensor& tensor = parameters.at(dense.list()[i].name);
    const std::vector<float> values(tensor.data.begin(), tensor.data.end());
    dense.Import(static_cast<std::int64_t>(i), values, dense.weights());
  }
  trainer_.tower().Pack(pool_);
  ShardedEmbeddingBagCollection& embeddings = trainer_.embeddings();
  for (std::int64_t t = 0; t < embeddings.num_tables(); ++t) {
    const EmbeddingTableConfig& table = embeddings.table_config(t);
    const Tensor& tensor = parameters.at(TableParameterName(table.name));
    const std::vector<float> rows(tensor.data.begin(), tensor.data.end());
    embeddings.WriteRows(t, 0, table.num_embeddings, rows.data());
  }
}

Tensors EngineModel::GetParameters() {
  Tensors out;
  const Parameters& dense = trainer_.tower().parameters();
  for (std::size_t i = 0; i < dense.list().size(); ++i) {
    out[dense.list()[i].name] = ExportParameter(dense, i, dense.weights());
  }
  const ShardedEmbeddingBagCollection& embeddings = trainer_.embeddings();
  for (std::int64_t t = 0; t < embeddings.num_tables(); ++t) {
    const EmbeddingTableConfig& table = embeddings.table_config(t);
    std::vector<float> rows(static_cast<std::size_t>(table.num_embeddings * table.embedding_dim));
    embeddings.ReadRows(t, 0, table.num_embeddings, rows.data());
    out[TableParameterName(table.name)] = ToTensor({table.num_embeddings, table.embedding_dim}, rows);
  }
  return out;
}

}  // namespace hotrow::reference
