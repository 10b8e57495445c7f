#include "hotrow/embed/fused_backward.h"

#include <algorithm>

#include "hotrow/base/index.h"
#include "hotrow/optim/optimizer_factors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/embed/fused_backward.cc"
// clang-format off: foreach_target must come before highway.h
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "hotrow/embed/gradient_sum-inl.h"
#include "hotrow/embed/row_update-inl.h"

#ifndef HOTROW_EMBED_FUSED_BACKWARD_ONCE_
#define HOTROW_EMBED_FUSED_BACKWARD_ONCE_
namespace hotrow {
namespace {

// A sorted bucket and the slots its keys stand for: bits.Row(key).
template <typename E>
struct BucketRows {
  std::span<const E> entries;
  const FeatureGradient* features = nullptr;
  std::int64_t num_features = 0;
  BagCode code;
  RowsView view;
  RowBits bits;
};

}  // namespace
}  // namespace hotrow
#endif

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

template <typename E>
struct UpdateSink {
  const BucketRows<E>& bucket;
  const RowUpdate& update;
  ApplyRowFunction apply;

  HWY_INLINE std::int64_t Slot(std::uint32_t key) const { return bucket.bits.Row(key); }
  HWY_INLINE const float* Place(std::uint32_t key) const { return bucket.view.Row(Slot(key)); }
  HWY_INLINE void Prefetch(std::uint32_t key) const { PrefetchUpdate(bucket.view, Slot(key)); }
  HWY_INLINE void Take(std::uint32_t key, const float* gradient) const {
    const std::int64_t slot = Slot(key);
    apply(update, bucket.view.Row(slot), bucket.view.State(slot), gradient);
  }
};

template <typename E>
void UpdateRows(const BucketRows<E>& bucket, const ReductionUnits& units, const OptimizerConfig& optimizer,
                const OptimizerFactors& factors, const BackwardScratch::Rows& scratch) {
  const std::int64_t dim = bucket.view.layout.dim;
  const RowUpdate update{factors, dim, scratch.decayed};
  UpdateSink<E> sink{bucket, update, ChooseApplyRow(optimizer)};
  const GradientSource source{bucket.features, bucket.num_features, bucket.code, dim};
  RowWalker<E, UpdateSink<E>>(bucket.entries, source, units, scratch.partials, sink).Run();
}

void UpdatePlain(const BucketRows<Entry>& bucket, const ReductionUnits& units,
                 const OptimizerConfig& optimizer, const OptimizerFactors& factors,
                 const BackwardScratch::Rows& scratch) {
  UpdateRows(bucket, units, optimizer, factors, scratch);
}
void UpdateScaled(const BucketRows<ScaledEntry>& bucket, const ReductionUnits& units,
                  const OptimizerConfig& optimizer, const OptimizerFactors& factors,
                  const BackwardScratch::Rows& scratch) {
  UpdateRows(bucket, units, optimizer, factors, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {
namespace {

HWY_EXPORT(UpdatePlain);
HWY_EXPORT(UpdateScaled);

constexpr std::size_t kIndexAhead = 32;

// Gives the bucket's rows slots in a lazy table and replaces the entries' keys by them. The bucket's rows
// have no other thread.
template <typename E>
void KeysToSlots(EmbeddingTable& table, const EntrySorter::Bucket& bucket, std::span<E> entries,
                 std::int64_t* absent) {
  const std::uint32_t* slots = table.view().slots;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    __builtin_prefetch(slots + bucket.Row(entries[std::min(i + kIndexAhead, entries.size() - 1)].row));
    const std::int64_t row = bucket.Row(entries[i].row);
    if (slots[row] == 0 && (count == 0 || absent[count - 1] != row)) absent[count++] = row;
  }
  table.MakeResident({absent, Index(count)});
  for (E& entry : entries) entry.row = slots[bucket.Row(entry.row)] - 1;
}

}  // namespace

template <typename E>
void FusedBackward::UpdateBucket(std::int64_t index, int thread, std::span<const BagGradients> tables) {
  const EntrySorter::Bucket bucket = sorter_.bucket(index);
  const BagGradients& input = tables[Index(bucket.table)];
  EmbeddingTable& table = *input.table;
  const OptimizerFactors& factors = factors_[Index(bucket.table)];
  const std::span<E> entries = sorter_.Sort<E>(index, thread);
  BucketRows<E> rows{entries,     input.features.data(), input.num_features(),
                     bucket.code, table.view(),          bucket.bits};
  if (rows.view.slots != nullptr) {
    KeysToSlots(table, bucket, entries, absent_[Index(thread)].data());
    rows.bits = {};
  }
  EntrySorter::Pad(entries);
  const BackwardScratch::Rows scratch = scratch_.Of(thread, table.dim());
  if constexpr (std::is_same_v<E, ScaledEntry>) {
    HWY_DYNAMIC_DISPATCH(UpdateScaled)(rows, units_, table.optimizer(), factors, scratch);
  } else {
    HWY_DYNAMIC_DISPATCH(UpdatePlain)(rows, units_, table.optimizer(), factors, scratch);
  }
}

void FusedBackward::Run(std::span<const BagGradients> tables, OptimizerStep step, std::int64_t units,
                        ThreadPool& pool) {
  bool lazy = false;
  factors_.clear();
  for (const BagGradients& input : tables) {
    factors_.push_back(MakeOptimizerFactors(input.table->optimizer(), step));
    lazy = lazy || input.table->storage_kind() == StorageKind::kLazy;
  }
  units_.Reset(tables, units);
  scratch_.EnsureSize(tables, pool);
  sorter_.Partition(tables, BucketsFollow::kIdsAndThreads, pool);
  if (lazy) {
    if (absent_.size() < Index(pool.size())) absent_.resize(Index(pool.size()));
    for (Buffer<std::int64_t>& absent : absent_) absent.EnsureSize(sorter_.max_entries());
  }
  pool.Run(sorter_.buckets(), [&](std::int64_t task, int thread) {
    if (sorter_.bucket(task).scaled) {
      UpdateBucket<ScaledEntry>(task, thread, tables);
    } else {
      UpdateBucket<Entry>(task, thread, tables);
    }
  });
}

}  // namespace hotrow
#endif  // HWY_ONCE
