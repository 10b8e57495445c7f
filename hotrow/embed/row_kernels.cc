#include "hotrow/embed/row_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/embed/row_kernels.cc"
// clang-format off: foreach_target must come before highway.h
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "hotrow/embed/gradient_sum-inl.h"
#include "hotrow/embed/row_update-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

struct StoreSink {
  const EntrySorter::Bucket& bucket;
  std::int64_t dim;
  float* gradients;
  std::int64_t* rows;

  HWY_INLINE const float* Place(std::uint32_t key) const {
    return rows == nullptr ? gradients + bucket.Row(key) * dim : gradients;
  }
  HWY_INLINE void Prefetch(std::uint32_t key) const {
    if (rows == nullptr) PrefetchFloats(Place(key), dim);
  }
  HWY_INLINE void Take(std::uint32_t key, const float* gradient) {
    float* out = gradients;
    if (rows == nullptr) {
      out += bucket.Row(key) * dim;
    } else {
      *rows++ = bucket.Row(key);
      gradients += dim;
    }
    ForEachColumnVector(
        dim, [&](auto d, std::int64_t c) HWY_ATTR { hn::StoreU(hn::LoadU(d, gradient + c), d, out + c); });
  }
};

template <typename E>
void SumBucket(const EntrySorter::Bucket& bucket, std::span<const E> entries, const BagGradients& input,
               const ReductionUnits& units, float* partials, const GradientSink& out) {
  const std::int64_t dim = input.table->dim();
  StoreSink sink{bucket, dim, out.gradients, out.rows};
  const GradientSource source{input.features.data(), input.num_features(), bucket.code, dim};
  RowWalker<E, StoreSink>(entries, source, units, partials, sink).Run();
}

void SumPlain(const EntrySorter::Bucket& bucket, std::span<const Entry> entries, const BagGradients& input,
              const ReductionUnits& units, float* partials, const GradientSink& sink) {
  SumBucket(bucket, entries, input, units, partials, sink);
}
void SumScaled(const EntrySorter::Bucket& bucket, std::span<const ScaledEntry> entries,
               const BagGradients& input, const ReductionUnits& units, float* partials,
               const GradientSink& sink) {
  SumBucket(bucket, entries, input, units, partials, sink);
}

void UpdateBlock(const RowBlock& block, const OptimizerConfig& optimizer, const OptimizerFactors& factors,
                 const float* mean_squares, const BackwardScratch::Rows& scratch) {
  const std::int64_t dim = block.view.layout.dim;
  const RowUpdate update{factors, dim, scratch.decayed};
  const ApplyRowFunction apply = ChooseApplyRow(optimizer);
  const MoveRowWiseFunction move = ChooseMoveRowWise(optimizer);
  const bool rates = mean_squares != nullptr && optimizer.kind == OptimizerKind::kRowWiseAdagrad;
  const auto slot_of = [&](std::int64_t i) HWY_ATTR {
    return block.view.Slot(block.rows == nullptr ? block.first + i : block.rows[i]);
  };
  const auto fetch = [&](std::int64_t i) HWY_ATTR {
    if (block.rows == nullptr || i >= block.count) return;  // the hardware fetches rows one after another
    PrefetchUpdate(block.view, slot_of(i));
  };
  for (std::int64_t i = 0; i < kRowsAhead; ++i) fetch(i);
  for (std::int64_t i = 0; i < block.count; ++i) {
    fetch(i + kRowsAhead);
    const std::int64_t slot = slot_of(i);
    float* row = block.view.Row(slot);
    float* state = block.view.State(slot);
    const float* gradient = block.gradients + i * dim;
    if (rates) {
      move(update, RowWiseRate(factors, mean_squares[i], state), row, gradient);
    } else {
      apply(update, row, state, gradient);
    }
  }
}

void SquareGroupsRow(const float* gradient, const float* weights, std::int64_t dim,
                     const OptimizerFactors& factors, const BackwardScratch::Rows& scratch, float* groups) {
  const RowUpdate update{factors, dim, scratch.decayed};
  if (weights != nullptr) gradient = DecayRowGradient<WeightDecayMode::kL2>(update, weights, gradient);
  StoreSquareGroups(gradient, dim, groups);
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {
namespace {

HWY_EXPORT(SumPlain);
HWY_EXPORT(SumScaled);
HWY_EXPORT(UpdateBlock);
HWY_EXPORT(SquareGroupsRow);

}  // namespace

void SumBucketRows(const EntrySorter::Bucket& bucket, std::span<const Entry> entries,
                   const BagGradients& input, const ReductionUnits& units, float* partials,
                   const GradientSink& sink) {
  HWY_DYNAMIC_DISPATCH(SumPlain)(bucket, entries, input, units, partials, sink);
}
void SumBucketRows(const EntrySorter::Bucket& bucket, std::span<const ScaledEntry> entries,
                   const BagGradients& input, const ReductionUnits& units, float* partials,
                   const GradientSink& sink) {
  HWY_DYNAMIC_DISPATCH(SumScaled)(bucket, entries, input, units, partials, sink);
}
void UpdateRowBlock(const RowBlock& block, const OptimizerConfig& optimizer, const OptimizerFactors& factors,
                    const float* mean_squares, const BackwardScratch::Rows& scratch) {
  HWY_DYNAMIC_DISPATCH(UpdateBlock)(block, optimizer, factors, mean_squares, scratch);
}
void SquareGroupsOfRow(const float* gradient, const float* weights, std::int64_t dim,
                       const OptimizerFactors& factors, const BackwardScratch::Rows& scratch, float* groups) {
  HWY_DYNAMIC_DISPATCH(SquareGroupsRow)(gradient, weights, dim, factors, scratch, groups);
}

}  // namespace hotrow
#endif  // HWY_ONCE
