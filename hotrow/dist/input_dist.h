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
// Two slots, so that a batch's ids can be under way while the one before is still needed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/dist/options.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

class InputDist {
 public:
  static constexpr int kSlots = 2;

  /// `model` in the plan's order, its features positions among the batch's `num_features` keys. Throws Error
  /// when 4-byte ids are asked for and a table has 2^31 rows or more.
  InputDist(const ShardingPlan& plan, std::span<const TableShape> model, std::int64_t num_features,
            const DistOptions& options, Communicator& comm, ThreadPool& pool);
  ~InputDist();

  int id_bytes() const { return id_bytes_; }

  // Of a step, in this order, by all ranks; ShardedEmbeddingBagCollection says what each waits for. The batch
  // is only read by Start.
  void Start(const KeyedJaggedTensor& batch, int slot, std::span<const std::int64_t> samples);
  void Continue(int slot);
  void Finish(int slot);
  /// Brings what Finish has received into [feature][source][sample]; nothing for RecatMode::kNone. Returns
  /// the bytes that it read and wrote.
  std::int64_t Recat(int slot);

  /// Features whose ids this rank receives, ascending positions among the batch's keys.
  std::span<const std::int64_t> features() const;
  /// Every rank's number of samples, in rank order.
  std::span<const std::int64_t> samples(int slot) const;
  /// Bags of features()[index] that rank `source` has sent, in the arrival or, after Recat, in its result.
  const FeatureBags& bags(int slot, std::int64_t index, int source) const;

  /// Bytes sent to other ranks so far.
  std::int64_t sent_bytes() const { return sent_bytes_; }
  /// Recat::plans_made.
  std::int64_t recat_plans_made() const;

 private:
  struct Route;
  struct Pack;
  struct SplitPlace;
  struct Slot;
  struct Engines;
  static constexpr std::int64_t kWeightBytes = sizeof(float);

  void MakeRoutes(const ShardingPlan& plan, std::span<const TableShape> model);
  void ShareOutPacks();
  void PlaceSplits(Slot& slot) const;
  bool IsJagged(const Slot& slot, std::int64_t feature) const;
  void PlacePacks(Slot& slot, const KeyedJaggedTensor& batch);
  void BucketizeLengths(Slot& slot, const KeyedJaggedTensor& batch);
  void SizePayloads(Slot& slot);
  std::byte* IdsAt(Pack& pack, std::size_t place) const;
  float* WeightsAt(Pack& pack, std::size_t place) const;
  void CopyWholeFeatures(Slot& slot, const KeyedJaggedTensor& batch);
  void ScatterSplitFeatures(Slot& slot);
  void StartLengths(Slot& slot);
  void StartPayload(Slot& slot);
  void CountArrival(Slot& slot);
  void MakeOffsets(Slot& slot);
  void ViewBlock(Slot& slot, std::size_t block, const std::byte* ids, const float* weights);
  std::size_t ranks() const { return Index(comm_.size()); }
  std::size_t self() const { return Index(comm_.rank()); }

  Communicator& comm_;
  ThreadPool& pool_;
  int id_bytes_ = 8;
  std::int64_t sent_bytes_ = 0;
  std::vector<Route> routes_;                                // of every feature
  std::vector<std::vector<std::int64_t>> features_of_rank_;  // that each receives
  std::vector<std::size_t> pack_of_rank_;  // ranks that receive the same features whole share one pack
  std::size_t packs_ = 0;
  bool any_split_ = false;
  std::unique_ptr<Engines> engines_;
  std::array<std::unique_ptr<Slot>, kSlots> slots_;
};

}  // namespace hotrow
