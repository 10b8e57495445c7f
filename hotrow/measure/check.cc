#include "hotrow/measure/check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/measure/rank_batches.h"
#include "hotrow/reference/convert.h"
#include "hotrow/reference/reference_trainer.h"

namespace hotrow {
namespace {

namespace ref = hotrow::reference;

constexpr std::int64_t kStepSamples = 32;
constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kSparseSamples = 128;
constexpr double kTolerance = 1e-4;
// The reference's `doubt` supposes a gradient that was rounded once; sums over thousands of terms in fp32 are
// off by more.
constexpr double kRoundings = 16;
// A stored weight is rounded to 2^-24 of itself, and an update may round twice on the way there.
constexpr double kWeightRounding = 0x1.0p-22;
constexpr double kSmall = 0.01;
// An fp32 sum of a gradient may be off by a ten-thousandth of the tensor's largest; a wrong one is further
// off.
constexpr double kChanges = 10;

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

  // Collective; of use on rank 0.
  ref::Tensor Read(const ShardedEmbeddingBagCollection& embeddings, std::int64_t table) const {
    const std::int64_t dim = embeddings.table_config(table).embedding_dim;
    ref::Tensor out = ref::Zeros({std::max<std::int64_t>(1, size()), dim});
    std::vector<float> row(static_cast<std::size_t>(dim));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      embeddings.ReadRows(table, rows_[i], 1, row.data());
      std::copy(row.begin(), row.end(), out.data.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
    }
    return out;
  }

 private:
  std::map<std::int64_t, std::int64_t> place_;
  std::vector<std::int64_t> rows_;
};

// Differences as parts of what they may be measured against: all must be kTolerance at most.
class ErrorMeter {
 public:
  // A logit, a loss or a pooled value: against its size, or kSmall where it is near 0.
  void Add(double got, double want) { AddError(got - want, kSmall + std::abs(want)); }

  // Weights after an update: against the largest change of the tensor's weights, however small beside the
  // weights themselves, or a wrong update would hide in them. `doubt`: how far the rounding of a gradient may
  // have moved each; empty: not at all.
  void AddUpdate(const ref::Tensor& got, const ref::Tensor& want, const ref::Tensor& before,
                 const std::vector<double>& doubt) {
    double change = 0;
    for (std::size_t i = 0; i < want.data.size(); ++i)
      change = std::max(change, std::abs(want.data[i] - before.data[i]));
    for (std::size_t i = 0; i < want.data.size(); ++i) {
      const double rounding =
          kWeightRounding * std::abs(want.data[i]) + (doubt.empty() ? 0.0 : kRoundings * doubt[i]);
      AddError(got.data[i] - want.data[i], kChanges * change + rounding / kTolerance);
    }
  }
  CheckResult Result(std::int64_t samples) const { return {samples, max_, max_ <= kTolerance}; }

 private:
  void AddError(double difference, double scale) {
    if (difference == 0) return;
    const double error = std::abs(difference) / scale;
    if (!(error <= max_)) max_ = error;  // NaN counts as the largest
  }

  double max_ = 0;
};

const std::vector<double>& Doubt(const std::map<std::string, ref::State>& states, const std::string& name) {
  static const std::vector<double> none;
  const auto it = states.find(name);
  return it == states.end() ? none : it->second.doubt;
}

ref::Tensor ReadParameter(const Parameters& parameters, std::int64_t index) {
  const Parameter& p = parameters.list()[static_cast<std::size_t>(index)];
  std::vector<float> values(static_cast<std::size_t>(p.size()));
  parameters.Export(index, parameters.weights(), values);
  if (p.vector) return ref::ToTensor({p.size()}, values);
  return ref::ToTensor(p.transposed ? std::vector{p.columns, p.rows} : std::vector{p.rows, p.columns},
                       values);
}

// Collective; of use on rank 0.
ref::Tensors ReadAll(Trainer& trainer, const std::vector<CompactTable>& tables) {
  ref::Tensors all;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto table = static_cast<std::int64_t>(t);
    all[ref::TableParameterName(trainer.embeddings().table_config(table).name)] =
        tables[t].Read(trainer.embeddings(), table);
  }
  const Parameters& parameters = std::as_const(trainer.tower()).parameters();
  for (std::size_t i = 0; i < parameters.list().size(); ++i) {
    all[parameters.list()[i].name] = ReadParameter(parameters, static_cast<std::int64_t>(i));
  }
  return all;
}

// The samples of a rank, one after another, make those of the world.
std::vector<float> GatherSamples(Communicator& comm, std::span<const float> mine) {
  std::vector<float> all;
  for (const std::vector<float>& of_rank : AllGatherV<float>(comm, mine))
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  return all;
}

CheckResult OfRank0(Communicator& comm, CheckResult result) {
  Broadcast<CheckResult>(comm, std::span(&result, 1));
  return result;
}

// Ids of all steps' batches renumbered alike.
std::vector<CompactTable> CompactAll(const ModelConfig& model, std::vector<ref::Batch>& batches) {
  std::vector<CompactTable> tables;
  for (const EmbeddingTableConfig& table : model.tables) {
    std::vector<ref::Bags*> bags;
    for (const std::string& name : table.feature_names) {
      const auto it = std::find(model.features.begin(), model.features.end(), name);
      for (ref::Batch& batch : batches)
        bags.push_back(&batch.features[static_cast<std::size_t>(it - model.features.begin())]);
    }
    tables.emplace_back(bags);
  }
  return tables;
}

}  // namespace

CheckResult CheckStep(const BenchConfig& bench, Communicator& comm, ThreadPool& pool) {
  const TrainerConfig& config = bench.trainer;
  const SyntheticConfig& data = bench.data;
  const std::int64_t samples = std::min(kStepSamples, CheckedMul(bench.per_chip_batch, comm.size()));
  const SyntheticSource whole(data, &pool);
  std::vector<ref::Batch> batches;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    Batch batch;
    whole.Fill(step, step * samples, samples, batch);
    batches.push_back(ref::ToReference(batch));
  }
  const std::vector<CompactTable> tables = CompactAll(config.model, batches);

  Trainer trainer(config, comm, pool);
  ModelConfig compact_model = config.model;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    compact_model.tables[t].num_embeddings = std::max<std::int64_t>(1, tables[t].size());
  }
  OptimizerConfig dense = config.dense_optimizer;
  if (dense.kind == OptimizerKind::kRowWiseAdagrad) dense.kind = OptimizerKind::kAdagrad;
  ref::Trainer reference(compact_model, dense, config.kernel == BackwardKernel::kUnfused,
                         ReadAll(trainer, tables));
  reference.set_schedule(config.schedule);
  reference.set_clip_norm(config.clip_norm);

  const RankBatches slices(data, samples, config.reduction_units, comm, pool);
  Batch ring[2];  // the step's batch, and the next
  slices.Fill(0, ring[0]);
  ErrorMeter meter;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const bool ahead = bench.pipeline && step + 1 < kSteps;
    Batch& next = ring[(step + 1) % 2];
    slices.Fill(step + 1, next);
    const float loss = trainer.Step(ring[step % 2], ahead ? &next : nullptr);
    const std::vector<float> logits = GatherSamples(comm, trainer.last_logits());
    const ref::Tensors got = ReadAll(trainer, tables);
    if (comm.rank() != 0) continue;
    const ref::Tensors before = reference.parameters();
    const ref::Evaluation want = reference.Step(batches[static_cast<std::size_t>(step)]);
    meter.Add(static_cast<double>(loss), want.loss);
    for (std::size_t i = 0; i < want.logits.size(); ++i)
      meter.Add(static_cast<double>(logits[i]), want.logits[i]);
    for (const auto& [name, tensor] : reference.parameters())
      meter.AddUpdate(got.at(name), tensor, before.at(name), Doubt(reference.state(), name));
    reference.set_parameters(got);
  }
  return OfRank0(comm, meter.Result(samples));
}

namespace {

// The embeddings of a check, this rank's batch and gradient, and what the lookup gave.
struct SparseCase {
  SparseCase(const TrainerConfig& config, Communicator& comm, ThreadPool& pool)
      : dims(config.model.FeatureDims()),
        places(SampleMajorPlaces(dims, 0)),
        embeddings(config.model.tables, config.model.features, config.plan.value(),
                   {.kernel = config.kernel, .storage = config.storage, .seed = config.seed}, config.dist,
                   comm, pool) {}

  void Run(const SyntheticConfig& data, std::int64_t samples, std::int64_t units, Communicator& comm,
           ThreadPool& pool) {
    const RankBatches slices(data, samples, units, comm, pool);
    Batch batch;
    slices.Fill(0, batch);
    RandomSequence random(data.seed, RandomStream::kSyntheticDense, 1);
    const std::int64_t width = places.front().stride;
    gradient.EnsureSize(CheckedMul(width, samples));
    FeatureMajorPlaces(samples, dims, gradient_places);
    for (float& g : gradient.span()) g = UnitFloat(random.NextWord()) - 0.5F;
    Buffer<float> pooled(CheckedMul(width, slices.samples()));
    ShardedEmbeddingBagCollection::Context context = embeddings.MakeContext();
    embeddings.StartInputDist(batch.sparse, context, batch.rank_samples);
    embeddings.FinishInputDist(context);
    embeddings.Forward(context, {pooled.data(), places});
    std::vector<PooledPlace> own_places;
    FeatureMajorPlaces(slices.longest(), dims, own_places);
    Buffer<float> own(CheckedMul(width, slices.longest()));
    for (std::size_t f = 0; f < dims.size(); ++f) {
      const float* from = gradient.data() + gradient_places[f].first + slices.first() * dims[f];
      std::copy_n(from, slices.samples() * dims[f], own.data() + own_places[f].first);
    }
    embeddings.Backward(context, {own.data(), own_places}, units, 1);
    all_pooled = GatherSamples(comm, pooled.span());
  }

  std::vector<std::int64_t> dims;
  std::vector<PooledPlace> places;           // in all_pooled
  std::vector<PooledPlace> gradient_places;  // in gradient
  ShardedEmbeddingBagCollection embeddings;
  Buffer<float> gradient;         // of all ranks' samples
  std::vector<float> all_pooled;  // likewise
};

// The reference's lookup, backward and update of one table beside the engine's.
void CheckTable(const SparseCase& sparse, const TrainerConfig& config, std::int64_t table,
                const std::vector<ref::Bags>& features, const ref::Tensor& initial,
                const ref::Tensor& updated, ErrorMeter& meter) {
  const EmbeddingTableConfig& table_config = config.model.tables[static_cast<std::size_t>(table)];
  ref::Tensor table_gradient = ref::Zeros(initial.shape);
  std::set<std::int64_t> touched;
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (sparse.embeddings.TableOfFeature(static_cast<std::int64_t>(f)) != table) continue;
    const std::vector<double> want = ref::Pool(initial, table_config.pooling, features[f]);
    std::vector<double> upstream(want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i);
      const PooledPlace& place = sparse.places[f];
      const std::int64_t at = place.first + element / table_config.embedding_dim * place.stride +
                              element % table_config.embedding_dim;
      meter.Add(static_cast<double>(sparse.all_pooled[static_cast<std::size_t>(at)]), want[i]);
      upstream[i] = static_cast<double>(sparse.gradient[sparse.gradient_places[f].first + element]);
    }
    ref::AddPoolGradient(upstream, table_config.pooling, features[f], table_gradient, touched);
  }
  ref::State state;
  ref::Tensor want = initial;
  ref::Update(table_config.optimizer, 1, table_gradient, touched, want, state);
  meter.AddUpdate(updated, want, initial, state.doubt);
}

// Collective; of use on rank 0.
std::vector<ref::Tensor> ReadTables(const std::vector<CompactTable>& tables,
                                    const ShardedEmbeddingBagCollection& embeddings) {
  std::vector<ref::Tensor> all;
  for (std::size_t t = 0; t < tables.size(); ++t)
    all.push_back(tables[t].Read(embeddings, static_cast<std::int64_t>(t)));
  return all;
}

// Lookup, backward and update of one batch beside the reference's.
void CheckUpdate(const TrainerConfig& config, const SyntheticConfig& data, std::int64_t samples,
                 const std::vector<CompactTable>& tables, const std::vector<ref::Bags>& features,
                 Communicator& comm, ThreadPool& pool, ErrorMeter& meter) {
  SparseCase sparse(config, comm, pool);
  const std::vector<ref::Tensor> initial = ReadTables(tables, sparse.embeddings);
  sparse.Run(data, samples, config.reduction_units, comm, pool);
  const std::vector<ref::Tensor> updated = ReadTables(tables, sparse.embeddings);
  for (std::size_t t = 0; t < tables.size() && comm.rank() == 0; ++t)
    CheckTable(sparse, config, static_cast<std::int64_t>(t), features, initial[t], updated[t], meter);
}

}  // namespace

CheckResult CheckSparse(const BenchConfig& bench, Communicator& comm, ThreadPool& pool) {
  const TrainerConfig& config = bench.trainer;
  const SyntheticConfig& data = bench.data;
  const std::int64_t global_batch = CheckedMul(bench.per_chip_batch, comm.size());
  const std::int64_t samples = comm.size() == 1 ? global_batch : std::min(kSparseSamples, global_batch);
  Batch batch;
  SyntheticSource(data, &pool).Fill(0, 0, samples, batch);
  std::vector<ref::Batch> batches(1);
  for (std::int64_t f = 0; f < config.model.num_features(); ++f)
    batches[0].features.push_back(ref::ToBags(batch.sparse, f));
  const std::vector<CompactTable> tables = CompactAll(config.model, batches);

  ErrorMeter meter;
  CheckUpdate(config, data, samples, tables, batches[0].features, comm, pool, meter);
  // From a state of zeros, Adagrad and Adam move a weight alike whatever its gradient's size. SGD shows it.
  TrainerConfig sgd = config;
  for (EmbeddingTableConfig& table : sgd.model.tables) {
    table.optimizer.kind = OptimizerKind::kSgd;
    table.optimizer.initial_accumulator = 0;
  }
  if (sgd.model.tables != config.model.tables)
    CheckUpdate(sgd, data, samples, tables, batches[0].features, comm, pool, meter);
  return OfRank0(comm, meter.Result(samples));
}

}  // namespace hotrow
