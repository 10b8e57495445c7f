#pragma once
// Input dist: each rank sends every other the ids of the features that rank holds shards of, each feature
// once however many shards. Features of table_wise and column_wise tables go whole; those of row_wise and
// grid tables are bucketized by owner (dist/bucketize.h), and their ids become rows of the owner's shard.
// data_parallel features stay at home.
//
// On the wire, from each rank to each: where any bag's size varies, [1 + bags] lengths of 4 bytes first, of
// which the first says whether ids have weights; then all ids, feature after feature, of 4 or 8 bytes (-1 is
// an id that the bounds check skipped), then as many fp32 weights where there are any. Fixed sizes need no
// lengths: nothing but ids moves.
//
// Each batch on its way is an InputBatch of its own, so that a batch's ids can be under way while the one
// before is still needed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/dist/input_arrival.h"
#include "hotrow/dist/input_routes.h"
#include "hotrow/dist/input_send.h"
#include "hotrow/dist/options.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// One batch on its way; batch after batch, since it keeps its memory.
class InputBatch {
 public:
  const InputArrival& arrival() const { return arrival_; }

 private:
  friend class InputDist;
  explicit InputBatch(const InputRoutes& routes) : send_(routes), arrival_(routes) {}

  InputSend send_;
  InputArrival arrival_;
  bool has_lengths_ = false;
  bool lengths_pending_ = false;
  // Last: they end first.
  Request lengths_request_;
  Request payload_request_;
};

class InputDist {
 public:
  /// As MakeInputRoutes. `comm` and `pool` must outlive it, and it all batches that it makes.
  InputDist(const ShardingPlan& plan, std::span<const TableShape> model, std::int64_t num_features,
            const DistOptions& options, Communicator& comm, ThreadPool& pool);

  InputBatch MakeBatch() const { return InputBatch(routes_); }

  int id_bytes() const { return routes_.id_bytes; }
  /// Features whose ids this rank receives, ascending positions among the batch's keys.
  std::span<const std::int64_t> features() const { return routes_.received(); }

  // Of a batch, in this order, by all ranks; ShardedEmbeddingBagCollection says what each waits for. `batch`
  // is only read by Start.
  void Start(const KeyedJaggedTensor& batch, std::span<const std::int64_t> samples, InputBatch& way);
  void Continue(InputBatch& way);
  void Finish(InputBatch& way);
  /// InputArrival::RunRecat.
  std::int64_t RunRecat(InputBatch& way) { return way.arrival_.RunRecat(engines_, pool_); }

  /// Bytes sent to other ranks so far.
  std::int64_t sent_bytes() const { return sent_bytes_; }
  /// Recat::plans_made.
  std::int64_t recat_plans_made() const { return engines_.ids.plans_made(); }

 private:
  void StartLengths(InputBatch& way);
  void StartPayload(InputBatch& way);

  Communicator& comm_;
  ThreadPool& pool_;
  InputRoutes routes_;
  RecatEngines engines_;
  std::vector<std::int32_t> bag_sizes_;  // of every feature of the batch that starts
  std::int64_t sent_bytes_ = 0;
};

}  // namespace hotrow
