#include "hotrow/sharded/sharded_embedding_bag_collection.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/dist/input_dist.h"
#include "hotrow/dist/output_dist.h"
#include "hotrow/embed/fused_backward.h"
#include "hotrow/embed/pooled_lookup.h"
#include "hotrow/embed/table_hash.h"
#include "hotrow/embed/unfused_backward.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/sharded/column_peers.h"
#include "hotrow/sharded/held_shard.h"
#include "hotrow/sharded/make_shards.h"
#include "hotrow/sharded/mean_scales.h"
#include "hotrow/sharded/replicas.h"
#include "hotrow/sharded/shard_rows.h"
#include "hotrow/sharded/table_shapes.h"

namespace hotrow {

struct ShardedEmbeddingBagCollection::Context::State {
  const KeyedJaggedTensor* batch = nullptr;
  std::vector<Buffer<float>> scales;         // of features that need them, by feature
  std::vector<const float*> scale_pointers;  // null where a feature needs none
  std::optional<InputBatch> way;             // none for one rank
  std::int64_t own_samples = 0;              // of the one rank

  std::span<const std::int64_t> samples() const {
    return way ? way->arrival().samples() : std::span(&own_samples, 1);
  }
};

struct ShardedEmbeddingBagCollection::Impl {
  using State = Context::State;

  Impl(std::vector<EmbeddingTableConfig> table_configs, const std::vector<std::string>& feature_names,
       ShardingPlan sharding_plan, const EmbeddingOptions& embedding_options, const DistOptions& dist,
       Communicator& communicator, ThreadPool& thread_pool);

  bool alone() const { return comm.size() == 1; }
  FeatureBags Bags(const State& state, std::int64_t feature, int source) const;
  void AddLookups(const State& state, PooledView<float> out);
  void FillGradients(const HeldShard& shard, const State& state, BagGradients& out) const;
  BagGradients ReplicaGradients(const HeldShard& shard, const State& state,
                                PooledView<const float> gradient) const;
  void UpdateShards(const State& state, std::int64_t units, OptimizerStep step);
  void UpdateColumnPeers(const State& state, std::int64_t units, OptimizerStep step);
  void UpdateReplicas(const State& state, PooledView<const float> gradient, std::int64_t units,
                      OptimizerStep step);
  void CountBytes(Phase phase, std::int64_t count) {
    bytes.Add(phase, count);
    if (tracer != nullptr) tracer->AddBytes(ToTraceName(phase), count);
  }

  Communicator& comm;
  ThreadPool& pool;
  std::vector<EmbeddingTableConfig> tables;
  std::vector<std::size_t> table_of_feature;
  std::vector<TableShape> model;
  ShardingPlan plan;
  EmbeddingOptions options;
  std::vector<HeldShard> shards;               // by (table, first_column)
  std::vector<std::int64_t> place_of_feature;  // among those the input dist receives; -1
  std::vector<bool> feature_needs_scale;
  std::vector<bool> table_has_peers;  // row-wise Adagrad with columns on several shards

  std::optional<InputDist> input;  // none for one rank
  OutputDist output;

  PooledLookup lookup;
  FusedBackward fused;
  UnfusedBackward unfused;
  ColumnPeers peers;
  Replicas replicas;
  std::vector<FeatureLookup> lookups;
  std::vector<BagGradients> gradients;  // kept for their memory

  PhaseTimes phases;
  PhaseBytes bytes;
  Tracer* tracer = nullptr;
};

ShardedEmbeddingBagCollection::Impl::Impl(std::vector<EmbeddingTableConfig> table_configs,
                                          const std::vector<std::string>& feature_names,
                                          ShardingPlan sharding_plan,
                                          const EmbeddingOptions& embedding_options, const DistOptions& dist,
                                          Communicator& communicator, ThreadPool& thread_pool)
    : comm(communicator),
      pool(thread_pool),
      tables(std::move(table_configs)),
      table_of_feature(TablesOfFeatures(tables, feature_names)),
      model(TableShapes(tables, feature_names)),
      plan(PlanForModel(std::move(sharding_plan), model, comm.size())),
      options(embedding_options),
      shards(MakeShards(plan, tables, model, options, comm, pool)),
      output(PiecesOfRanks(plan, tables, model), dist.output_permute, comm, pool),
      peers(comm, pool),
      replicas(comm, pool) {
  feature_needs_scale.resize(feature_names.size());
  place_of_feature.assign(feature_names.size(), -1);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::vector<PlanShard>& all = plan.tables[t].shards;
    table_has_peers.push_back(tables[t].optimizer.kind == OptimizerKind::kRowWiseAdagrad &&
                              std::any_of(all.begin(), all.end(), [&](const PlanShard& shard) {
                                return shard.columns < plan.tables[t].dim;
                              }));
    for (const std::int64_t f : model[t].features) {
      feature_needs_scale[Index(f)] =
          RowsAreSplit(plan.tables[t], plan.world) && tables[t].pooling == PoolingType::kMean;
    }
  }
  if (alone()) return;
  input.emplace(plan, model, static_cast<std::int64_t>(feature_names.size()), dist, comm, pool);
  for (std::size_t k = 0; k < input->features().size(); ++k)
    place_of_feature[Index(input->features()[k])] = static_cast<std::int64_t>(k);
}

FeatureBags ShardedEmbeddingBagCollection::Impl::Bags(const State& state, std::int64_t feature,
                                                      int source) const {
  if (!state.way) return state.batch->feature(feature);
  return state.way->arrival().bags(place_of_feature[Index(feature)], source);
}

void ShardedEmbeddingBagCollection::Impl::AddLookups(const State& state, PooledView<float> out) {
  const KeyedJaggedTensor& batch = *state.batch;
  lookups.clear();
  for (const HeldShard& shard : shards) {
    for (std::size_t i = 0; i < shard.features.size(); ++i) {
      const std::int64_t f = shard.features[i];
      if (shard.replica) {
        lookups.push_back({shard.table.get(), batch.feature(f), out.Row(f, 0), out.places[Index(f)].stride});
        continue;
      }
      for (int r = 0; r < comm.size(); ++r) {
        const PooledRows<float> place = output.Place(shard.first_piece + i, r);
        lookups.push_back({shard.table.get(), Bags(state, f, r), place.data, place.stride});
      }
    }
  }
}

void ShardedEmbeddingBagCollection::Impl::FillGradients(const HeldShard& shard, const State& state,
                                                        BagGradients& out) const {
  out.table = shard.table.get();
  out.segments = comm.size();
  out.features.clear();
  for (int r = 0; r < comm.size(); ++r) {
    for (std::size_t i = 0; i < shard.features.size(); ++i) {
      const PooledRows<const float> rows = output.Gradient(shard.first_piece + i, r);
      out.features.push_back({Bags(state, shard.features[i], r), rows.data, rows.stride});
    }
  }
}

BagGradients ShardedEmbeddingBagCollection::Impl::ReplicaGradients(const HeldShard& shard, const State& state,
                                                                   PooledView<const float> gradient) const {
  const KeyedJaggedTensor& batch = *state.batch;
  BagGradients own{shard.table.get(), {}};
  for (const std::int64_t f : shard.features)
    own.features.push_back({batch.feature(f), gradient.Row(f, 0), gradient.places[Index(f)].stride});
  return own;
}

void ShardedEmbeddingBagCollection::Impl::UpdateShards(const State& state, std::int64_t units,
                                                       OptimizerStep step) {
  gradients.resize(shards.size());
  std::size_t count = 0;
  for (const HeldShard& shard : shards) {
    if (shard.replica || table_has_peers[Index(shard.table_index)]) continue;
    FillGradients(shard, state, gradients[count++]);
  }
  const std::span<const BagGradients> filled(gradients.data(), count);
  if (options.kernel == BackwardKernel::kFused) {
    fused.Run(filled, step, units, pool);
  } else {
    unfused.Run(filled, step, units, pool);
  }
}

void ShardedEmbeddingBagCollection::Impl::UpdateColumnPeers(const State& state, std::int64_t units,
                                                            OptimizerStep step) {
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (!table_has_peers[t]) continue;
    std::vector<BagGradients> of_table;
    for (const HeldShard& shard : shards) {
      if (Index(shard.table_index) == t) FillGradients(shard, state, of_table.emplace_back());
    }
    peers.Update(plan.tables[t], of_table, options.kernel, units, step);
  }
}

void ShardedEmbeddingBagCollection::Impl::UpdateReplicas(const State& state, PooledView<const float> gradient,
                                                         std::int64_t units, OptimizerStep step) {
  std::vector<BagGradients> own;
  for (const HeldShard& shard : shards) {
    if (shard.replica) own.push_back(ReplicaGradients(shard, state, gradient));
  }
  if (!own.empty()) replicas.Update(own, options.kernel, units, step);
}

ShardedEmbeddingBagCollection::ShardedEmbeddingBagCollection(
    std::vector<EmbeddingTableConfig> tables, std::vector<std::string> feature_names, ShardingPlan plan,
    const EmbeddingOptions& options, const DistOptions& dist, Communicator& comm, ThreadPool& pool) {
  Validate(tables);
  impl_ =
      std::make_unique<Impl>(std::move(tables), feature_names, std::move(plan), options, dist, comm, pool);
}

ShardedEmbeddingBagCollection::~ShardedEmbeddingBagCollection() = default;

ShardedEmbeddingBagCollection::Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
ShardedEmbeddingBagCollection::Context::Context(Context&&) noexcept = default;
ShardedEmbeddingBagCollection::Context& ShardedEmbeddingBagCollection::Context::operator=(
    Context&&) noexcept = default;
ShardedEmbeddingBagCollection::Context::~Context() = default;

ShardedEmbeddingBagCollection::Context ShardedEmbeddingBagCollection::MakeContext() const {
  auto state = std::make_unique<Context::State>();
  state->scales.resize(impl_->feature_needs_scale.size());
  state->scale_pointers.resize(impl_->feature_needs_scale.size());
  if (impl_->input) state->way.emplace(impl_->input->MakeBatch());
  return Context(std::move(state));
}

void ShardedEmbeddingBagCollection::StartInputDist(const KeyedJaggedTensor& batch, Context& context,
                                                   std::span<const std::int64_t> samples) {
  Impl& impl = *impl_;
  const TracedPhase phase(impl.phases, impl.tracer, Phase::kInputDist);
  HOTROW_CHECK(Index(batch.num_features()) == impl.table_of_feature.size());
  Context::State& own = *context.state_;
  own.batch = &batch;
  own.own_samples = batch.batch_size();
  for (std::size_t f = 0; f < impl.feature_needs_scale.size(); ++f) {
    if (!impl.feature_needs_scale[f]) continue;
    own.scales[f].EnsureSize(batch.batch_size());
    MeanScales(batch.feature(static_cast<std::int64_t>(f)), own.scales[f].data(), impl.pool);
    own.scale_pointers[f] = own.scales[f].data();
  }
  if (impl.alone()) return;
  const std::int64_t before = impl.input->sent_bytes();
  impl.input->Start(batch, samples, *own.way);
  impl.CountBytes(Phase::kInputDist, impl.input->sent_bytes() - before);
}

void ShardedEmbeddingBagCollection::ContinueInputDist(Context& context) {
  Impl& impl = *impl_;
  if (impl.alone()) return;
  const TracedPhase phase(impl.phases, impl.tracer, Phase::kInputDist);
  const std::int64_t before = impl.input->sent_bytes();
  impl.input->Continue(*context.state_->way);
  impl.CountBytes(Phase::kInputDist, impl.input->sent_bytes() - before);
}

void ShardedEmbeddingBagCollection::FinishInputDist(Context& context) {
  Impl& impl = *impl_;
  if (impl.alone()) return;
  {
    const TracedPhase phase(impl.phases, impl.tracer, Phase::kInputDist);
    const std::int64_t before = impl.input->sent_bytes();
    impl.input->Finish(*context.state_->way);
    impl.CountBytes(Phase::kInputDist, impl.input->sent_bytes() - before);
  }
  const TracedPhase phase(impl.phases, impl.tracer, Phase::kRecat);
  impl.CountBytes(Phase::kRecat, impl.input->RunRecat(*context.state_->way));
}

namespace {

// Closes, when its scope ends, what the output dist has open: after a step that failed, since one that went
// well has closed it.
class CloseSharesAtExit {
 public:
  explicit CloseSharesAtExit(OutputDist& output) : output_(output) {}
  ~CloseSharesAtExit() { output_.CloseShares(); }
  CloseSharesAtExit(const CloseSharesAtExit&) = delete;
  CloseSharesAtExit& operator=(const CloseSharesAtExit&) = delete;

 private:
  OutputDist& output_;
};

}  // namespace

void ShardedEmbeddingBagCollection::Forward(Context& context, PooledView<float> out) {
  Impl& impl = *impl_;
  const CloseSharesAtExit guard(impl.output);
  const Context::State& own = *context.state_;
  const std::int64_t before = impl.output.forward_bytes();
  {
    const TracedPhase phase(impl.phases, impl.tracer, Phase::kOutputDist);
    impl.output.BeginForward(out, own.samples());
  }
  {
    const TracedPhase phase(impl.phases, impl.tracer, Phase::kLookup);
    impl.AddLookups(own, out);
    impl.lookup.Run(impl.lookups, impl.pool);
  }
  const TracedPhase phase(impl.phases, impl.tracer, Phase::kOutputDist);
  impl.output.EndForward(own.scale_pointers);
  impl.CountBytes(Phase::kOutputDist, impl.output.forward_bytes() - before);
}

void ShardedEmbeddingBagCollection::Backward(Context& context, PooledView<const float> gradient,
                                             std::int64_t reduction_units, OptimizerStep step) {
  Impl& impl = *impl_;
  const CloseSharesAtExit guard(impl.output);
  const Context::State& own = *context.state_;
  {
    const TracedPhase phase(impl.phases, impl.tracer, Phase::kGradDist);
    const std::int64_t before = impl.output.backward_bytes();
    impl.output.BeginBackward(gradient, own.samples(), own.scale_pointers);
    impl.CountBytes(Phase::kGradDist, impl.output.backward_bytes() - before);
  }
  {
    const TracedPhase phase(impl.phases, impl.tracer, Phase::kSparseBackward);
    const std::int64_t before = impl.replicas.sent_bytes() + impl.peers.sent_bytes();
    impl.UpdateShards(own, reduction_units, step);
    impl.UpdateColumnPeers(own, reduction_units, step);
    impl.UpdateReplicas(own, gradient, reduction_units, step);
    impl.CountBytes(Phase::kSparseBackward, impl.replicas.sent_bytes() + impl.peers.sent_bytes() - before);
  }
  const TracedPhase phase(impl.phases, impl.tracer, Phase::kGradDist);
  impl.output.EndBackward();
}

const ShardingPlan& ShardedEmbeddingBagCollection::plan() const { return impl_->plan; }
std::int64_t ShardedEmbeddingBagCollection::num_tables() const {
  return static_cast<std::int64_t>(impl_->tables.size());
}
const EmbeddingTableConfig& ShardedEmbeddingBagCollection::table_config(std::int64_t t) const {
  return impl_->tables[Index(t)];
}
std::int64_t ShardedEmbeddingBagCollection::TableOfFeature(std::int64_t f) const {
  return static_cast<std::int64_t>(impl_->table_of_feature[Index(f)]);
}
std::vector<std::int64_t> ShardedEmbeddingBagCollection::FeatureDims() const {
  std::vector<std::int64_t> dims;
  for (const std::size_t table : impl_->table_of_feature) dims.push_back(impl_->tables[table].embedding_dim);
  return dims;
}

std::uint64_t ShardedEmbeddingBagCollection::WeightsHash() const {
  std::uint64_t sum = 0;
  for (const HeldShard& shard : impl_->shards) {
    if (!shard.replica || impl_->comm.rank() == 0) sum += HashWeights(*shard.table, impl_->pool);
  }
  return sum;
}

std::uint64_t ShardedEmbeddingBagCollection::StateHash() const {
  std::uint64_t sum = 0;
  for (const HeldShard& shard : impl_->shards) {
    if (!shard.replica || impl_->comm.rank() == 0) sum += HashState(*shard.table, impl_->pool);
  }
  return sum;
}

std::uint64_t ShardedEmbeddingBagCollection::ReplicaHash() const {
  std::uint64_t sum = 0;
  for (const HeldShard& shard : impl_->shards) {
    if (shard.replica)
      sum += HashWeights(*shard.table, impl_->pool) + 3 * HashState(*shard.table, impl_->pool);
  }
  return sum;
}

void ShardedEmbeddingBagCollection::ReadRows(std::int64_t t, std::int64_t first_row, std::int64_t count,
                                             float* out) const {
  GatherRows(impl_->plan.tables[Index(t)], t, impl_->shards, first_row, count, out, impl_->comm);
}

void ShardedEmbeddingBagCollection::WriteRows(std::int64_t t, std::int64_t first_row, std::int64_t count,
                                              const float* in) {
  SetRows(t, impl_->shards, first_row, count, impl_->plan.tables[Index(t)].dim, in);
}

std::vector<const EmbeddingTable*> ShardedEmbeddingBagCollection::shards() const {
  std::vector<const EmbeddingTable*> out;
  for (const HeldShard& shard : impl_->shards) out.push_back(shard.table.get());
  return out;
}

std::int64_t ShardedEmbeddingBagCollection::LogicalBytes() const {
  std::int64_t bytes = 0;
  for (const HeldShard& shard : impl_->shards) {
    if (!shard.replica || impl_->comm.rank() == 0) bytes += shard.table->LogicalBytes();
  }
  return bytes;
}

std::int64_t ShardedEmbeddingBagCollection::ResidentBytes() const {
  std::int64_t bytes = 0;
  for (const HeldShard& shard : impl_->shards) bytes += shard.table->ResidentBytes();
  return bytes;
}

PhaseTimes& ShardedEmbeddingBagCollection::phases() { return impl_->phases; }
const PhaseTimes& ShardedEmbeddingBagCollection::phases() const { return impl_->phases; }
PhaseBytes& ShardedEmbeddingBagCollection::bytes() { return impl_->bytes; }
const PhaseBytes& ShardedEmbeddingBagCollection::bytes() const { return impl_->bytes; }
void ShardedEmbeddingBagCollection::set_tracer(Tracer* tracer) { impl_->tracer = tracer; }
std::int64_t ShardedEmbeddingBagCollection::recat_plans_made() const {
  return impl_->alone() ? 0 : impl_->input->recat_plans_made();
}
int ShardedEmbeddingBagCollection::id_bytes() const { return impl_->alone() ? 8 : impl_->input->id_bytes(); }

}  // namespace hotrow
