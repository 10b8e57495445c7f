// Walks a sorted bucket and sums each row's gradient in its canonical order. Include it inside a Highway
// foreach_target file.

#if defined(HOTROW_EMBED_GRADIENT_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOTROW_EMBED_GRADIENT_SUM_INL_H_
#undef HOTROW_EMBED_GRADIENT_SUM_INL_H_
#else
#define HOTROW_EMBED_GRADIENT_SUM_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "hotrow/base/tree_sum.h"
#include "hotrow/embed/entry_sorter.h"
#include "hotrow/embed/reduction_units.h"
#include "hotrow/embed/row_columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

/// How many entries ahead of the sums gradients are fetched: they are near, a table's are a few megabytes.
constexpr std::int64_t kGradientsAhead = 10;
/// Rows' pages are looked up a few together, and this many entries ahead. A page that the TLB does not know
/// costs a walk, and no instruction behind a fetch retires before its walk ends: walks a row apart follow
/// each other, those side by side overlap. One to six together are nearly alike.
constexpr std::int64_t kPagesTogether = 2;
constexpr std::int64_t kPagesAhead = kRowsAhead + 8;
/// Where the machine has larger ones, a few lines are fetched for nothing.
constexpr std::uintptr_t kPageBytes = 4096;
static_assert(kGradientsAhead < EntrySorter::kPadding &&
              kPagesAhead + 2 * kPagesTogether < EntrySorter::kPadding);

/// The gradients of one table's bags.
struct GradientSource {
  const FeatureGradient* features = nullptr;
  std::int64_t num_features = 0;
  BagCode code;
  std::int64_t dim = 0;

  HWY_INLINE const float* Row(std::uint32_t bag) const {
    const FeatureGradient& feature = features[code.Feature(bag, num_features)];
    return feature.gradient + code.SampleInSegment(bag) * feature.stride;
  }
  HWY_INLINE std::uint64_t Sample(std::uint32_t bag) const { return code.Sample(bag); }
};

/// Sums rows' gradients for one bucket. `Sink` takes them, key being the entries' row: sink.Place(key) is
/// what Take will touch first (any one place, where it writes row after row), sink.Prefetch(key) fetches all
/// of it, sink.Take(key, gradient) gets the sum [dim], valid during the call.
template <typename E, class Sink>
class RowWalker {
 public:
  /// `partials`: kMaxPartials rows of RoundUp(dim, 16) floats. The entries are padded (EntrySorter::Pad).
  RowWalker(std::span<const E> entries, const GradientSource& source, const ReductionUnits& units,
            float* partials, Sink& sink)
      : entries_(entries.data()),
        size_(static_cast<std::int64_t>(entries.size())),
        source_(source),
        units_(units),
        partials_(partials),
        partial_stride_(RoundUp(source.dim, 16)),
        sink_(sink) {}

  void Run() {
    if (size_ == 0) return;
    sink_.Prefetch(entries_[0].row);
    for (std::int64_t i = 1; i < kRowsAhead; ++i) FetchRow(i);
    for (std::int64_t i = 0; i < kGradientsAhead; ++i) FetchGradient(i);
    for (std::int64_t i = 0; i < size_;) {
      if (next_page_ < i + kPagesAhead) FetchPages(i);
      const std::uint32_t key = entries_[i].row;
      std::int64_t end = i + 1;
      while (end < size_ && entries_[end].row == key) ++end;
      sink_.Take(key, SumRow(i, end));
      i = end;
    }
  }

 private:
  static constexpr bool kScaled = std::is_same_v<E, ScaledEntry>;

  // What is wanted soon after entry i.
  HWY_INLINE void FetchAhead(std::int64_t i) const {
    FetchGradient(i + kGradientsAhead);
    FetchRow(i + kRowsAhead);
  }
  HWY_INLINE void FetchGradient(std::int64_t i) const {
    PrefetchFloats(source_.Row(entries_[i].bag), source_.dim);
  }
  HWY_INLINE void FetchRow(std::int64_t i) const {
    if (entries_[i].row != entries_[i - 1].row) sink_.Prefetch(entries_[i].row);
  }
  // Looks up the next pages of rows wanted after entry i's.
  HWY_INLINE void FetchPages(std::int64_t i) {
    next_page_ = std::max(next_page_, i + kRowsAhead);  // many entries may have been one row's
    const std::int64_t end = i + kPagesAhead + 2 * kPagesTogether;
    for (std::int64_t pages = 0; next_page_ < end && pages < kPagesTogether; ++next_page_) {
      const float* place = sink_.Place(entries_[next_page_].row);
      const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(place) / kPageBytes;
      if (page == last_page_) continue;
      last_page_ = page;
      PrefetchRow(place, 1);
      ++pages;
    }
  }

  HWY_INLINE const float* SumRow(std::int64_t begin, std::int64_t end) {
    // One entry, the usual case, needs no sum.
    if (end - begin == 1 && !kScaled) {
      FetchAhead(begin);
      return source_.Row(entries_[begin].bag);
    }
    SumEntries(begin, end);
    return partials_;
  }

  HWY_NOINLINE void SumEntries(std::int64_t begin, std::int64_t end) {
    ForEachColumnBlock(source_.dim, [&](auto d, auto vectors, std::int64_t c)
                                        HWY_ATTR { SumColumns<vectors()>(d, begin, end, c); });
  }

  // Columns of the entries' sum, into the first partial row: a unit's entries in order, units by their tree
  // (hotrow/base/tree_sum.h; through its TreeStack the backward takes 1.02 to 1.03 times as long). The newest
  // sum is in registers; on a stack of partial rows are those to which no right sibling was added yet.
  template <int kVectors, class D>
  HWY_INLINE void SumColumns(D d, std::int64_t begin, std::int64_t end, std::int64_t c) {
    constexpr std::int64_t kLanes = LanesOf<D>();
    // Two entries have the same sum in one unit or across two.
    const bool one_unit = end - begin <= 2;
    std::uint64_t unit = one_unit ? 0 : UnitOf(begin);
    int levels[ReductionUnits::kMaxPartials];  // of the stacked sums: TreeLevel from each to what came next
    int depth = 0;
    for (std::int64_t i = begin;;) {
      hn::Vec<D> sums[kVectors];
      const std::uint64_t unit_end = one_unit ? std::numeric_limits<std::uint64_t>::max() : units_.End(unit);
      if (c == 0) FetchAhead(i);
      const float* first = source_.Row(entries_[i].bag) + c;
      for (int v = 0; v < kVectors; ++v) sums[v] = Scaled(d, i, hn::LoadU(d, first + v * kLanes));
      for (++i; i < end && source_.Sample(entries_[i].bag) < unit_end; ++i) {
        if (c == 0) FetchAhead(i);
        const float* gradient = source_.Row(entries_[i].bag) + c;
        for (int v = 0; v < kVectors; ++v) {
          sums[v] = hn::Add(sums[v], Scaled(d, i, hn::LoadU(d, gradient + v * kLanes)));
        }
      }
      const bool last = i == end;
      const std::uint64_t next = last ? 0 : UnitOf(i);
      const int level = last ? std::numeric_limits<int>::max() : TreeLevel(unit, next);
      while (depth > 0 && levels[depth - 1] < level) {
        const float* left = partials_ + --depth * partial_stride_ + c;
        for (int v = 0; v < kVectors; ++v) sums[v] = hn::Add(hn::LoadU(d, left + v * kLanes), sums[v]);
      }
      float* out = partials_ + depth * partial_stride_ + c;
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, out + v * kLanes);
      if (last) return;
      levels[depth++] = level;
      unit = next;
    }
  }

  HWY_INLINE std::uint64_t UnitOf(std::int64_t i) const {
    return units_.UnitOf(source_.Sample(entries_[i].bag));
  }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V Scaled(D d, std::int64_t i, V gradient) const {
    if constexpr (kScaled) return hn::Mul(gradient, hn::Set(d, entries_[i].scale));
    return gradient;
  }

  const E* entries_;
  std::int64_t size_;
  const GradientSource& source_;
  const ReductionUnits& units_;
  float* partials_;
  std::int64_t partial_stride_;
  Sink& sink_;
  std::int64_t next_page_ = kRowsAhead;  // the first entry whose row's page was not looked up yet
  std::uintptr_t last_page_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#endif  // HOTROW_EMBED_GRADIENT_SUM_INL_H_
