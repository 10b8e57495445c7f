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
#include "hotrow/optim/optimizer_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {

/// groups[i] = the squares' sum of columns 4 i to 4 i + 3. Writes up to SquareGroups(dim).
HWY_INLINE void SumSquareGroups(const float* gradient, std::int64_t dim, float* groups) {
  const auto sum_group = [](auto d, const float* columns, float* out) HWY_ATTR {
    hn::Vec<decltype(d)> g0, g1, g2, g3;
    hn::LoadInterleaved4(d, columns, g0, g1, g2, g3);
    hn::StoreU(hn::Add(hn::Add(hn::Mul(g0, g0), hn::Mul(g1, g1)), hn::Add(hn::Mul(g2, g2), hn::Mul(g3, g3))),
               d, out);
  };
  const RowTag d;
  constexpr std::int64_t kLanes = LanesOf<RowTag>();
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= dim; c += 4 * kLanes) sum_group(d, gradient + c, groups + c / 4);
  if (c == dim) return;
  HWY_ALIGN float padded[64] = {};
  HWY_ALIGN float sums[16];
  std::copy(gradient + c, gradient + dim, padded);
  sum_group(d, padded, sums);
  std::copy_n(sums, SquareGroups(dim - c), groups + c / 4);
}

/// What a row's update needs besides the row.
struct RowUpdate {
  OptimizerFactors factors;
  std::int64_t dim = 0;
  float* decayed = nullptr;  ///< scratch, [RoundUp(dim, 16)]
  float* groups = nullptr;   ///< scratch, [RoundUp(SquareGroups(dim), 16)]
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

/// Row-wise Adagrad with the row's mean square known; `gradient` is decayed already.
template <WeightDecayMode kDecay>
HWY_INLINE void ApplyRowWise(const RowUpdate& update, float mean_square, float* HWY_RESTRICT row,
                             const float* HWY_RESTRICT gradient) {
  const OptimizerFactors f = update.factors;
  const float rate = RowWiseRate(f, mean_square, row + update.dim);
  ForEachColumnVector(update.dim, [&](auto d, std::int64_t c) HWY_ATTR {
    hn::StoreU(RowWiseUpdatedWeight<kDecay>(d, f, hn::Set(d, rate), hn::LoadU(d, row + c),
                                            hn::LoadU(d, gradient + c)),
               d, row + c);
  });
}

/// One optimizer step on a row (weights [dim], then state) with its gradient [dim].
template <OptimizerKind kKind, WeightDecayMode kDecay>
void ApplyRow(const RowUpdate& update, float* HWY_RESTRICT row, const float* HWY_RESTRICT gradient) {
  const std::int64_t dim = update.dim;
  if constexpr (kKind == OptimizerKind::kRowWiseAdagrad) {
    const float* decayed = DecayRowGradient<kDecay>(update, row, gradient);
    SumSquareGroups(decayed, dim, update.groups);
    ApplyRowWise<kDecay>(update, MeanSquare(update.groups, dim), row, decayed);
  } else {
    const OptimizerFactors f = update.factors;
    ForEachColumnVector(dim, [&](auto d, std::int64_t c) HWY_ATTR {
      constexpr int kStates = OptimizerStateVectors(kKind);
      auto s0 = hn::Zero(d);
      auto s1 = hn::Zero(d);
      if constexpr (kStates > 0) s0 = hn::LoadU(d, row + dim + c);
      if constexpr (kStates > 1) s1 = hn::LoadU(d, row + 2 * dim + c);
      const auto w =
          UpdatedWeight<kKind, kDecay>(d, f, hn::LoadU(d, row + c), hn::LoadU(d, gradient + c), s0, s1);
      hn::StoreU(w, d, row + c);
      if constexpr (kStates > 0) hn::StoreU(s0, d, row + dim + c);
      if constexpr (kStates > 1) hn::StoreU(s1, d, row + 2 * dim + c);
    });
  }
}

using ApplyRowFunction = void (*)(const RowUpdate& update, float* row, const float* gradient);

/// ApplyRow for a configuration.
inline ApplyRowFunction ChooseApplyRow(const OptimizerConfig& config) {
  return DispatchOptimizer(
      config, [](auto kind, auto decay) HWY_ATTR -> ApplyRowFunction { return &ApplyRow<kind(), decay()>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#endif  // HOTROW_EMBED_ROW_UPDATE_INL_H_
