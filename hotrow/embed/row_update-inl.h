// The optimizers on whole rows. Include it inside a Highway foreach_target file.

#if defined(HOTROW_EMBED_ROW_UPDATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOTROW_EMBED_ROW_UPDATE_INL_H_
#undef HOTROW_EMBED_ROW_UPDATE_INL_H_
#else
#define HOTROW_EMBED_ROW_UPDATE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hotrow/embed/mean_square.h"
#include "hotrow/embed/row_columns-inl.h"
#include "hotrow/embed/rows_view.h"
#include "hotrow/optim/optimizer_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

/// Fetches all that an update of the row will touch: to be called some kRowsAhead rows before it.
HWY_INLINE void PrefetchUpdate(const RowsView& view, std::int64_t slot) {
  PrefetchRow(view.Row(slot), view.layout.together);
  if (view.layout.apart > 0) PrefetchRow(view.State(slot), view.layout.apart);
}

/// The sums of squares of LanesOf<RowTag>() aligned groups of 4 columns.
HWY_INLINE hn::Vec<RowTag> SquareGroupVector(const float* columns) {
  const RowTag d;
  hn::Vec<RowTag> g0, g1, g2, g3;
  hn::LoadInterleaved4(d, columns, g0, g1, g2, g3);
  return hn::Add(hn::Add(hn::Mul(g0, g0), hn::Mul(g1, g1)), hn::Add(hn::Mul(g2, g2), hn::Mul(g3, g3)));
}

/// Calls body(sums, c) for every SquareGroupVector of a row, the one from column c. Columns past the row's
/// end count as zeros; the calls cover a multiple of kMeanSquareColumns.
inline constexpr std::int64_t kMeanSquareColumns = 64;
template <class Body>
HWY_INLINE void ForEachSquareGroups(const float* gradient, std::int64_t dim, Body&& body) {
  constexpr std::int64_t kStep = 4 * LanesOf<RowTag>();
  const std::int64_t whole = dim / kMeanSquareColumns * kMeanSquareColumns;
  for (std::int64_t c = 0; c < whole; c += kStep) body(SquareGroupVector(gradient + c), c);
  if (whole == dim) return;
  HWY_ALIGN float padded[kMeanSquareColumns] = {};
  std::copy(gradient + whole, gradient + dim, padded);
  for (std::int64_t c = 0; c < kMeanSquareColumns; c += kStep) body(SquareGroupVector(padded + c), whole + c);
}

/// groups[SquareGroups(dim)] of a row.
HWY_INLINE void StoreSquareGroups(const float* gradient, std::int64_t dim, float* groups) {
  const std::int64_t count = SquareGroups(dim);
  ForEachSquareGroups(gradient, dim, [&](hn::Vec<RowTag> sums, std::int64_t c) HWY_ATTR {
    constexpr std::int64_t kLanes = LanesOf<RowTag>();
    const std::int64_t left = count - c / 4;
    if (left >= kLanes) return hn::StoreU(sums, RowTag(), groups + c / 4);
    if (left <= 0) return;
    HWY_ALIGN float stored[kLanes];
    hn::Store(sums, RowTag(), stored);
    std::copy_n(stored, left, groups + c / 4);
  });
}

/// The sum of a vector's lanes: halves are added until one is left.
template <class D>
HWY_INLINE float HalvedSum(D /*d*/, hn::Vec<D> sums) {
  if constexpr (LanesOf<D>() == 1) {
    return hn::GetLane(sums);
  } else {
    const hn::Half<D> half;
    // Unqualified, so that it is looked up only where there are lanes: the scalar target has none.
    return HalvedSum(half, hn::Add(hn::LowerHalf(half, sums), UpperHalf(half, sums)));
  }
}

/// MeanSquare (hotrow/embed/mean_square.h) of a row whose columns are all here, its bits too, in registers:
/// the sixteen running sums are the lanes of one or more vectors. A missing group adds 0 to a sum of squares.
HWY_INLINE float RowMeanSquare(const float* gradient, std::int64_t dim) {
  const RowTag d;
  constexpr std::int64_t kLanes = LanesOf<RowTag>();
  constexpr std::int64_t kVectors = 16 / kLanes;
  hn::Vec<RowTag> sums[kVectors];
  for (std::int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  ForEachSquareGroups(gradient, dim, [&](hn::Vec<RowTag> groups, std::int64_t c) HWY_ATTR {
    const std::int64_t v = c / (4 * kLanes) % kVectors;
    sums[v] = hn::Add(sums[v], groups);
  });
  for (std::int64_t half = kVectors / 2; half > 0; half /= 2) {
    for (std::int64_t v = 0; v < half; ++v) sums[v] = hn::Add(sums[v], sums[v + half]);
  }
  return HalvedSum(d, sums[0]) * (1.0F / static_cast<float>(dim));
}

/// What a row's update needs besides the row.
struct RowUpdate {
  OptimizerFactors factors;
  std::int64_t dim = 0;
  float* decayed = nullptr;  ///< scratch, [RoundUp(dim, 16)]
};

/// The gradient with L2 decay, in update.decayed; `gradient` itself without.
template <WeightDecayMode kDecay>
HWY_INLINE const float* DecayRowGradient(const RowUpdate& update, const float* row, const float* gradient) {
  if constexpr (kDecay != WeightDecayMode::kL2) return gradient;
  ForEachColumnVector(update.dim, [&](auto d, std::int64_t c) HWY_ATTR {
    hn::StoreU(DecayedGradient<kDecay>(d, update.factors, hn::LoadU(d, row + c), hn::LoadU(d, gradient + c)),
               d, update.decayed + c);
  });
  return update.decayed;
}

/// A row's weights by row-wise Adagrad's rate (RowWiseRate), the gradient decayed as they are read.
template <WeightDecayMode kDecay>
HWY_INLINE void MoveRowWise(const RowUpdate& update, float rate, float* HWY_RESTRICT row,
                            const float* HWY_RESTRICT gradient) {
  const OptimizerFactors f = update.factors;
  ForEachColumnVector(update.dim, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto w = hn::LoadU(d, row + c);
    const auto g = DecayedGradient<kDecay>(d, f, w, hn::LoadU(d, gradient + c));
    hn::StoreU(RowWiseUpdatedWeight<kDecay>(d, f, hn::Set(d, rate), w, g), d, row + c);
  });
}

/// One optimizer step on a row's weights [dim] and state with its gradient [dim].
template <OptimizerKind kKind, WeightDecayMode kDecay>
void ApplyRow(const RowUpdate& update, float* HWY_RESTRICT row, float* HWY_RESTRICT state,
              const float* HWY_RESTRICT gradient) {
  const std::int64_t dim = update.dim;
  if constexpr (kKind == OptimizerKind::kRowWiseAdagrad) {
    const float* decayed = DecayRowGradient<kDecay>(update, row, gradient);
    MoveRowWise<kDecay>(update, RowWiseRate(update.factors, RowMeanSquare(decayed, dim), state), row,
                        gradient);
  } else {
    const OptimizerFactors f = update.factors;
    ForEachColumnVector(dim, [&](auto d, std::int64_t c) HWY_ATTR {
      constexpr int kStates = OptimizerStateVectors(kKind);
      auto s0 = hn::Zero(d);
      auto s1 = hn::Zero(d);
      if constexpr (kStates > 0) s0 = hn::LoadU(d, state + c);
      if constexpr (kStates > 1) s1 = hn::LoadU(d, state + dim + c);
      const auto w =
          UpdatedWeight<kKind, kDecay>(d, f, hn::LoadU(d, row + c), hn::LoadU(d, gradient + c), s0, s1);
      hn::StoreU(w, d, row + c);
      if constexpr (kStates > 0) hn::StoreU(s0, d, state + c);
      if constexpr (kStates > 1) hn::StoreU(s1, d, state + dim + c);
    });
  }
}

using ApplyRowFunction = void (*)(const RowUpdate& update, float* row, float* state, const float* gradient);

/// ApplyRow for a configuration.
inline ApplyRowFunction ChooseApplyRow(const OptimizerConfig& config) {
  return DispatchOptimizer(
      config, [](auto kind, auto decay) HWY_ATTR -> ApplyRowFunction { return &ApplyRow<kind(), decay()>; });
}

using MoveRowWiseFunction = void (*)(const RowUpdate& update, float rate, float* row, const float* gradient);

/// MoveRowWise for a configuration.
inline MoveRowWiseFunction ChooseMoveRowWise(const OptimizerConfig& config) {
  return DispatchOptimizer(
      config, [](auto, auto decay) HWY_ATTR -> MoveRowWiseFunction { return &MoveRowWise<decay()>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#endif  // HOTROW_EMBED_ROW_UPDATE_INL_H_
