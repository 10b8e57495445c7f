#include "hotrow/embed/pooled_lookup.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/embed/pooled_lookup.cc"
// clang-format off: foreach_target must come before highway.h
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "hotrow/base/index.h"
#include "hotrow/embed/row_columns-inl.h"

#ifndef HOTROW_EMBED_POOLED_LOOKUP_ONCE_
#define HOTROW_EMBED_POOLED_LOOKUP_ONCE_
namespace hotrow {
namespace {

// Rows resolved to addresses before they are summed.
constexpr std::int64_t kRowsAtOnce = 32;
// How far ahead of the sums a lazy table's index entry is fetched: before the row it leads to is.
constexpr std::int64_t kIndexAhead = 96;

// How many bags ahead the place of a pooled row is fetched: a store that misses holds up the loads behind it.
constexpr std::int64_t kBagsAhead = 4;

// Up to kRowsAtOnce rows of one bag.
struct RowBatch {
  std::int64_t count = 0;
  const float* rows[kRowsAtOnce];
  const float* ahead[kRowsAtOnce];  // rows to fetch meanwhile
  float weights[kRowsAtOnce];
};

}  // namespace
}  // namespace hotrow
#endif

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

// out[c ...] = the sum of the batch's rows, times their weights where kWeighted, in order: from the first row
// on where `first`, else on top of out.
template <int kVectors, bool kWeighted, class D>
HWY_INLINE void SumColumns(D d, const RowBatch& batch, std::int64_t c, bool first, float* HWY_RESTRICT out) {
  using V = hn::Vec<D>;
  constexpr std::int64_t kLanes = LanesOf<D>();
  V sums[kVectors];
  std::int64_t i = 0;
  if (first) {
    PrefetchRow(batch.ahead[0] + c, kVectors * kLanes);
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::LoadU(d, batch.rows[0] + c + v * kLanes);
      if constexpr (kWeighted) sums[v] = hn::Mul(hn::Set(d, batch.weights[0]), sums[v]);
    }
    i = 1;
  } else {
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, out + c + v * kLanes);
  }
  for (; i < batch.count; ++i) {
    PrefetchRow(batch.ahead[i] + c, kVectors * kLanes);
    const float* HWY_RESTRICT row = batch.rows[i] + c;
    for (int v = 0; v < kVectors; ++v) {
      V value = hn::LoadU(d, row + v * kLanes);
      if constexpr (kWeighted) value = hn::Mul(hn::Set(d, batch.weights[i]), value);
      sums[v] = hn::Add(sums[v], value);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, out + c + v * kLanes);
}

// Pools samples [begin, end) of a feature. `generated` has room for kRowsAtOnce rows.
template <bool kWeighted, typename Id>
void PoolSamples(const FeatureLookup& feature, const Id* HWY_RESTRICT ids, std::int64_t begin,
                 std::int64_t end, float* generated) {
  const EmbeddingTable& table = *feature.table;
  const RowsView view = table.view();
  const std::int64_t dim = table.dim();
  const bool mean = table.config().pooling == PoolingType::kMean;
  const std::int64_t last = feature.bags.num_ids() - 1;
  RowBatch batch;

  for (std::int64_t sample = begin; sample < end; ++sample) {
    float* out = feature.out + sample * feature.out_stride;
    const std::int64_t bag_end = feature.bags.end(sample);
    if (sample + kBagsAhead < end) PrefetchFloats(out + kBagsAhead * feature.out_stride, dim);
    std::int64_t pooled = 0;
    for (std::int64_t p = feature.bags.begin(sample); p < bag_end;) {
      batch.count = 0;
      const std::int64_t stop = std::min(bag_end, p + kRowsAtOnce);
      for (; p < stop; ++p) {
        if (view.slots != nullptr)
          hwy::Prefetch(view.slots + std::max<Id>(0, ids[std::min(p + kIndexAhead, last)]));
        const std::int64_t id = ids[p];
        if (id < 0) continue;  // skipped by the bounds check
        const float* row = view.Find(id);
        if (row == nullptr) {
          float* made = generated + batch.count * dim;
          table.InitialRow(id, made);
          row = made;
        }
        const float* ahead = view.Find(std::max<Id>(0, ids[std::min(p + kRowsAhead, last)]));
        batch.rows[batch.count] = row;
        batch.ahead[batch.count] = ahead == nullptr ? row : ahead;
        if constexpr (kWeighted) batch.weights[batch.count] = feature.bags.weights[Index(p)];
        ++batch.count;
      }
      if (batch.count == 0) continue;
      const bool first = pooled == 0;
      ForEachColumnBlock(dim, [&](auto d, auto vectors, std::int64_t c)
                                  HWY_ATTR { SumColumns<vectors(), kWeighted>(d, batch, c, first, out); });
      pooled += batch.count;
    }
    if (pooled == 0) {
      std::fill_n(out, dim, 0.0F);
    } else if (mean && pooled > 1) {
      const float scale = 1.0F / static_cast<float>(pooled);
      ForEachColumnVector(dim, [&](auto d, std::int64_t c) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::LoadU(d, out + c), hn::Set(d, scale)), d, out + c);
      });
    }
  }
}

template <bool kWeighted>
void PoolSamples(const FeatureLookup& feature, std::int64_t begin, std::int64_t end, float* generated) {
  if (feature.bags.narrow_ids.empty()) {
    PoolSamples<kWeighted>(feature, feature.bags.ids.data(), begin, end, generated);
  } else {
    PoolSamples<kWeighted>(feature, feature.bags.narrow_ids.data(), begin, end, generated);
  }
}

void PoolUnweighted(const FeatureLookup& feature, std::int64_t begin, std::int64_t end, float* generated) {
  PoolSamples<false>(feature, begin, end, generated);
}
void PoolWeighted(const FeatureLookup& feature, std::int64_t begin, std::int64_t end, float* generated) {
  PoolSamples<true>(feature, begin, end, generated);
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {
namespace {

HWY_EXPORT(PoolUnweighted);
HWY_EXPORT(PoolWeighted);

constexpr std::int64_t kIdsATask = 4096;

std::int64_t Tasks(const FeatureBags& bags) {
  // An empty bag is work too: its zeros are written.
  const std::int64_t work = bags.num_ids() + bags.samples;
  return std::min(bags.samples, CeilDiv(work, kIdsATask));
}

}  // namespace

void PooledLookup::Run(std::span<const FeatureLookup> features, ThreadPool& pool) {
  first_task_.assign(1, 0);
  std::int64_t widest_lazy = 0;
  for (const FeatureLookup& feature : features) {
    first_task_.push_back(first_task_.back() + Tasks(feature.bags));
    if (feature.table->storage_kind() == StorageKind::kLazy)
      widest_lazy = std::max(widest_lazy, feature.table->dim());
  }
  generated_.resize(std::max(generated_.size(), Index(pool.size())));
  for (Buffer<float>& buffer : generated_) buffer.EnsureSize(kRowsAtOnce * widest_lazy);

  pool.Run(first_task_.back(), [&](std::int64_t task, int thread) {
    const auto next = std::upper_bound(first_task_.begin(), first_task_.end(), task);
    const std::int64_t first = *(next - 1);
    const FeatureLookup& feature = features[Index(next - 1 - first_task_.begin())];
    const Slice samples = EvenSlice(feature.bags.samples, *next - first, task - first);
    float* generated = generated_[Index(thread)].data();
    if (feature.bags.weights.empty()) {
      HWY_DYNAMIC_DISPATCH(PoolUnweighted)(feature, samples.begin, samples.end, generated);
    } else {
      HWY_DYNAMIC_DISPATCH(PoolWeighted)(feature, samples.begin, samples.end, generated);
    }
  });
}

}  // namespace hotrow
#endif  // HWY_ONCE
