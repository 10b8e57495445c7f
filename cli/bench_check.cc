#include "cli/bench_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotrow/base/buffer.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"
#include "tests/reference/convert.h"
#include "tests/reference/reference_trainer.h"

namespace hotrow::cli {
namespace {

namespace ref = hotrow::reference;

constexpr std::int64_t kStepSamples = 32;
constexpr double kTolerance = 1e-4;
// The reference's `doubt` supposes a gradient that was rounded once; sums over thousands of terms in fp32 are
// off by more.
constexpr double kRoundings = 16;

// The rows of one table that a batch touches, renumbered 0, 1, …: the reference holds those only.
class CompactTable {
 public:
  CompactTable(const std::vector<ref::Bags*>& features) {
    for (ref::Bags* bags : features) {
      for (ref::Bag& bag : *bags) {
        for (std::int64_t& id : bag.ids) {
          if (id < 0) continue;
          const auto [it, added] = place_.try_emplace(id, static_cast<std::int64_t>(rows_.size()));
          if (added) rows_.push_back(id);
          id = it->second;
        }
      }
    }
  }

  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }

  ref::Tensor Read(const EmbeddingTable& table) const {
    ref::Tensor out = ref::Zeros({std::max<std::int64_t>(1, size()), table.dim()});
    std::vector<float> row(static_cast<std::size_t>(table.dim()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      table.ReadRows(rows_[i], 1, row.data());
      std::copy(row.begin(), row.end(), out.data.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
    }
    return out;
  }

 private:
  std::map<std::int64_t, std::int64_t> place_;
  std::vector<std::int64_t> rows_;
};

class ErrorMeter {
 public:
  // `doubt`: how far rounding alone may have moved the value.
  void Add(double got, double want, double doubt) {
    const double error = std::abs(got - want) / (1e-6 / kTolerance + std::abs(want) + doubt / kTolerance);
    if (!(error <= max_)) max_ = error;  // NaN counts as the largest
  }
  void Add(const ref::Tensor& got, const ref::Tensor& want, const std::vector<double>& doubt) {
    for (std::size_t i = 0; i < want.data.size(); ++i) {
      Add(got.data[i], want.data[i], doubt.empty() ? 0.0 : kRoundings * doubt[i]);
    }
  }
  CheckResult Result(std::int64_t samples) const { return {samples, max_, max_ <= kTolerance}; }

 private:
  double max_ = 0;
};

const std::vector<double>& Doubt(const std::map<std::string, ref::State>& states, const std::string& name) {
  static const std::vector<double> none;
  const auto it = states.find(name);
  return it == states.end() ? none : it->second.doubt;
}

// Compact forms of every table of the model; renumbers the ids of `features` in place.
std::vector<CompactTable> Compact(const ModelConfig& model, std::vector<ref::Bags>& features) {
  std::vector<CompactTable> tables;
  for (const EmbeddingTableConfig& table : model.tables) {
    std::vector<ref::Bags*> bags;
    for (const std::string& name : table.feature_names) {
      const auto it = std::find(model.features.begin(), model.features.end(), name);
      bags.push_back(&features[static_cast<std::size_t>(it - model.features.begin())]);
    }
    tables.emplace_back(bags);
  }
  return tables;
}

ref::Tensor ReadParameter(const Parameters& parameters, std::int64_t index) {
  const Parameter& p = parameters.list()[static_cast<std::size_t>(index)];
  std::vector<float> values(static_cast<std::size_t>(p.size()));
  parameters.Export(index, parameters.weights(), values);
  if (p.vector) return ref::ToTensor({p.size()}, values);
  return ref::ToTensor(p.transposed ? std::vector{p.columns, p.rows} : std::vector{p.rows, p.columns},
                       values);
}

ref::Tensors ReadAll(Trainer& trainer, const std::vector<CompactTable>& tables) {
  ref::Tensors all;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const EmbeddingTable& table = trainer.embeddings().table(static_cast<std::int64_t>(t));
    all[ref::TableParameterName(table.name())] = tables[t].Read(table);
  }
  const Parameters& parameters = std::as_const(trainer.tower()).parameters();
  for (std::size_t i = 0; i < parameters.list().size(); ++i) {
    all[parameters.list()[i].name] = ReadParameter(parameters, static_cast<std::int64_t>(i));
  }
  return all;
}

}  // namespace

CheckResult CheckStep(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t batch_size,
                      ThreadPool& pool) {
  const std::int64_t samples = std::min(kStepSamples, batch_size);
  SyntheticSource source(data, &pool);
  Batch batch;
  source.Fill(0, 0, samples, batch);
  ref::Batch ref_batch = ref::ToReference(batch);
  const std::vector<CompactTable> tables = Compact(config.model, ref_batch.features);

  Trainer trainer(config, pool);
  ModelConfig compact_model = config.model;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    compact_model.tables[t].num_embeddings = std::max<std::int64_t>(1, tables[t].size());
  }
  OptimizerConfig dense = config.dense_optimizer;
  if (dense.kind == OptimizerKind::kRowWiseAdagrad) dense.kind = OptimizerKind::kAdagrad;
  ref::Trainer reference(compact_model, config.optimizer, dense, config.kernel == BackwardKernel::kUnfused,
                         ReadAll(trainer, tables));

  const float loss = trainer.Step(batch);
  const ref::Evaluation want = reference.Step(ref_batch);
  ErrorMeter meter;
  meter.Add(static_cast<double>(loss), want.loss, 0);
  for (std::size_t i = 0; i < want.logits.size(); ++i) {
    meter.Add(static_cast<double>(trainer.last_logits()[i]), want.logits[i], 0);
  }
  const ref::Tensors got = ReadAll(trainer, tables);
  for (const auto& [name, tensor] : reference.parameters()) {
    meter.Add(got.at(name), tensor, Doubt(reference.state(), name));
  }
  return meter.Result(samples);
}

CheckResult CheckSparse(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t batch_size,
                        ThreadPool& pool) {
  const ModelConfig& model = config.model;
  SyntheticSource source(data, &pool);
  Batch batch;
  source.Fill(0, 0, batch_size, batch);
  EmbeddingBagCollection embeddings(model.tables, model.features,
                                    {.optimizer = config.optimizer,
                                     .kernel = config.kernel,
                                     .storage = config.storage,
                                     .seed = config.seed},
                                    pool);
  const std::int64_t dim = model.embedding_dim;
  const std::int64_t width = CheckedMul(model.num_features(), dim);
  std::vector<std::int64_t> columns;
  for (std::int64_t f = 0; f < model.num_features(); ++f) columns.push_back(f * dim);
  Buffer<float> pooled(CheckedMul(width, batch_size));
  Buffer<float> gradient(CheckedMul(width, batch_size));
  RandomSequence random(data.seed, RandomStream::kSyntheticDense, 1);
  for (float& g : gradient.span()) g = UnitFloat(random.NextWord()) - 0.5F;

  std::vector<ref::Bags> features;
  for (std::int64_t f = 0; f < model.num_features(); ++f) features.push_back(ref::ToBags(batch.sparse, f));
  const std::vector<CompactTable> tables = Compact(model, features);
  std::vector<ref::Tensor> initial;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    initial.push_back(tables[t].Read(embeddings.table(static_cast<std::int64_t>(t))));
  }
  embeddings.Forward(batch.sparse, {pooled.data(), width, columns}, pool);
  embeddings.Backward(batch.sparse, {gradient.data(), width, columns}, config.reduction_units, 1, pool);

  ErrorMeter meter;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    ref::Tensor table_gradient = ref::Zeros(initial[t].shape);
    std::set<std::int64_t> touched;
    for (std::size_t f = 0; f < features.size(); ++f) {
      if (embeddings.TableOfFeature(static_cast<std::int64_t>(f)) != static_cast<std::int64_t>(t)) continue;
      const std::vector<double> want = ref::Pool(initial[t], model.tables[t].pooling, features[f]);
      std::vector<double> upstream(want.size());
      for (std::int64_t s = 0; s < batch_size; ++s) {
        for (std::int64_t c = 0; c < dim; ++c) {
          const std::int64_t at = s * width + columns[f] + c;
          const auto i = static_cast<std::size_t>(s * dim + c);
          meter.Add(static_cast<double>(pooled[at]), want[i], 0);
          upstream[i] = static_cast<double>(gradient[at]);
        }
      }
      ref::AddPoolGradient(upstream, model.tables[t].pooling, features[f], table_gradient, touched);
    }
    ref::State state;
    ref::Update(config.optimizer, 1, table_gradient, touched, initial[t], state);
    meter.Add(tables[t].Read(embeddings.table(static_cast<std::int64_t>(t))), initial[t], state.doubt);
  }
  return meter.Result(batch_size);
}

}  // namespace hotrow::cli
