#pragma once
// The embedding tables of a model, sharded over ranks by a plan: input dist, lookup, output dist, and back.
//
// A step, on every rank, in this order:
//   StartInputDist(batch, context)   ids leave for the ranks that hold their rows; may overlap the tower of
//                                    the step before, which has another context
//   FinishInputDist(context)         ids are here, recat done
//   Forward(context, x)              pooled rows of this rank's samples stand in x
//   Backward(context, gradient, units, step)
// All ranks make the same calls in the same order, StartInputDist, ContinueInputDist and hashes included:
// most are collectives. With table_wise, column_wise and data_parallel tables the results have the bits of
// one rank that holds everything; row_wise and grid reassociate the pooled sum.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/dist/options.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/embed/pooled_view.h"
#include "hotrow/embed/table_config.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/tracer.h"

namespace hotrow {

class ShardedEmbeddingBagCollection {
 public:
  /// What one batch needs on its way through the tables. It keeps its memory: batches that never overlap
  /// take turns with one context.
  class Context {
   public:
    Context(Context&&) noexcept;
    Context& operator=(Context&&) noexcept;
    ~Context();

   private:
    friend class ShardedEmbeddingBagCollection;
    struct State;
    explicit Context(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  /// Collective: makes this rank's shards. Keys of every batch, in order: feature_names. `comm` and `pool`
  /// must outlive it. Throws Error where EmbeddingBagCollection does (thread ranks' tables must fit in memory
  /// together), and when the plan does not fit the tables or the world.
  ShardedEmbeddingBagCollection(std::vector<EmbeddingTableConfig> tables,
                                std::vector<std::string> feature_names, ShardingPlan plan,
                                const EmbeddingOptions& options, const DistOptions& dist, Communicator& comm,
                                ThreadPool& pool);
  ~ShardedEmbeddingBagCollection();

  /// Not collective. The collection must outlive it.
  Context MakeContext() const;

  const ShardingPlan& plan() const;
  std::int64_t num_tables() const;  ///< of the model, not of this rank
  const EmbeddingTableConfig& table_config(std::int64_t t) const;
  /// Table that feature f looks up in.
  std::int64_t TableOfFeature(std::int64_t f) const;
  /// embedding_dim of each feature's table.
  std::vector<std::int64_t> FeatureDims() const;

  /// Sends away this rank's ids; does not wait for other ranks where bags have fixed sizes and `samples` is
  /// given: every rank's number of samples, in rank order, this rank's batch.batch_size(). Without it ranks
  /// exchange the numbers first. Any may be 0. All batches are of one kind, fixed (of the same sizes, and
  /// weighted or not) or jagged. Ids must have passed CheckIds. The batch must stay as it is until the
  /// context's Backward has returned (FinishInputDist and Forward, where none follows).
  void StartInputDist(const KeyedJaggedTensor& batch, Context& context,
                      std::span<const std::int64_t> samples = {});
  /// Optional, between Start and Finish, by all ranks or none: waits for the lengths, which travel first
  /// where bags vary in size, and sends the ids, so that they too move before Finish.
  void ContinueInputDist(Context& context);
  void FinishInputDist(Context& context);

  /// Pools every bag of this rank's batch into `out`, whose places are the same on all ranks.
  /// On thread ranks the owners of the rows write there themselves. Never changes or grows a table.
  void Forward(Context& context, PooledView<float> out);

  /// `gradient` of what Forward gave, scaled by 1 / global batch where the loss is a mean; its places are
  /// the same on all ranks, however many samples each has (FeatureMajorPlaces). Sums each
  /// touched row's gradient over the batches of all ranks, one after another, cut together into
  /// `reduction_units`, a multiple of the ranks where tables are data_parallel; applies each table's
  /// optimizer once.
  void Backward(Context& context, PooledView<const float> gradient, std::int64_t reduction_units,
                OptimizerStep step);

  /// This rank's part: the parts of all ranks add up, modulo 2^64, to EmbeddingBagCollection's hash of the
  /// whole tables. Replicas count on rank 0. Not collective.
  std::uint64_t WeightsHash() const;
  std::uint64_t StateHash() const;
  /// One word for this rank's replicas, weights and state, the same on every rank. 0 without any.
  std::uint64_t ReplicaHash() const;

  /// Collective. Rows [first_row, first_row + count) of table t, all columns: weights [count, dim], on rank 0
  /// (`out` is not used elsewhere), from whichever ranks hold them.
  void ReadRows(std::int64_t t, std::int64_t first_row, std::int64_t count, float* out) const;
  /// Sets this rank's part of those rows. Not collective: every rank reads the file for itself.
  void WriteRows(std::int64_t t, std::int64_t first_row, std::int64_t count, const float* in);

  /// This rank's shards, replicas among them, by (table, first_column).
  std::vector<const EmbeddingTable*> shards() const;

  /// Bytes of weights and state of this rank's shards if every row were resident; replicas on rank 0 only.
  std::int64_t LogicalBytes() const;
  std::int64_t ResidentBytes() const;

  /// input_dist, recat, lookup, output_dist, grad_dist and sparse_backward.
  PhaseTimes& phases();
  const PhaseTimes& phases() const;
  PhaseBytes& bytes();
  const PhaseBytes& bytes() const;
  /// Where spans and bytes go as well; null, the default: nowhere.
  void set_tracer(Tracer* tracer);

  /// How often a recat plan (the index, or lengths and offsets) was made: once in all for fixed sizes.
  std::int64_t recat_plans_made() const;
  /// Bytes of an id on the wire.
  int id_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotrow
