// The optimizers' arithmetic on one vector of elements, for every kernel that updates weights. Include it
// inside a Highway foreach_target file.
//
// Every operation is a correctly rounded add, multiply, divide or square root, never fused and never
// approximate: the bits depend neither on the vector width nor on where an element stands in a row.

#if defined(HOTROW_OPTIM_OPTIMIZER_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOTROW_OPTIM_OPTIMIZER_MATH_INL_H_
#undef HOTROW_OPTIM_OPTIMIZER_MATH_INL_H_
#else
#define HOTROW_OPTIM_OPTIMIZER_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "hotrow/optim/optimizer_factors.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How many vectors of state go with a vector of weights: 0, 1 or 2. Row-wise Adagrad's one number a row is
/// not among them: see RowWiseRate.
constexpr int OptimizerStateVectors(OptimizerKind kind) {
  return kind == OptimizerKind::kAdam ? 2 : kind == OptimizerKind::kAdagrad ? 1 : 0;
}

/// The gradient the optimizer works on: g, with L2 decay g + l2 * w.
template <WeightDecayMode kDecay, class D, class V = hn::Vec<D>>
HWY_INLINE V DecayedGradient(D d, const OptimizerFactors& f, V w, V g) {
  if constexpr (kDecay == WeightDecayMode::kL2) g = hn::Add(g, hn::Mul(hn::Set(d, f.l2), w));
  return g;
}

/// w - update, the weights shrunk first under decoupled decay.
template <WeightDecayMode kDecay, class D, class V = hn::Vec<D>>
HWY_INLINE V MovedWeight(D d, const OptimizerFactors& f, V w, V update) {
  if constexpr (kDecay == WeightDecayMode::kDecoupled) w = hn::Mul(hn::Set(d, f.keep), w);
  return hn::Sub(w, update);
}

/// The new weights from weights and gradients; `s0`, `s1` are the state (Adagrad's h; Adam's m and v; else
/// unused) and become the new state. Not for row-wise Adagrad. A zero gradient without decay leaves SGD's
/// and, with eps > 0, Adagrad's weights and state as they were, bit for bit.
template <OptimizerKind kKind, WeightDecayMode kDecay, class D, class V = hn::Vec<D>>
HWY_INLINE V UpdatedWeight(D d, const OptimizerFactors& f, V w, V g, V& s0, V& s1) {
  static_assert(kKind != OptimizerKind::kRowWiseAdagrad);
  g = DecayedGradient<kDecay>(d, f, w, g);
  const V rate = hn::Set(d, f.learning_rate);
  V update;
  if constexpr (kKind == OptimizerKind::kSgd) {
    update = hn::Mul(rate, g);
  } else if constexpr (kKind == OptimizerKind::kAdagrad) {
    s0 = hn::Add(s0, hn::Mul(g, g));
    update = hn::Div(hn::Mul(rate, g), hn::Add(hn::Sqrt(s0), hn::Set(d, f.eps)));
  } else {
    s0 = hn::Add(hn::Mul(hn::Set(d, f.beta1), s0), hn::Mul(hn::Set(d, f.beta1_rest), g));
    s1 = hn::Add(hn::Mul(hn::Set(d, f.beta2), s1), hn::Mul(hn::Set(d, f.beta2_rest), hn::Mul(g, g)));
    const V m = hn::Mul(s0, hn::Set(d, f.m_correction));
    const V v = hn::Mul(s1, hn::Set(d, f.v_correction));
    update = hn::Div(hn::Mul(rate, m), hn::Add(hn::Sqrt(v), hn::Set(d, f.eps)));
  }
  return MovedWeight<kDecay>(d, f, w, update);
}

/// Row-wise Adagrad: adds the row's mean squared gradient to its accumulator and returns lr / (sqrt(h) +
/// eps), by which the row's gradient is multiplied: one division a row instead of one an element.
HWY_INLINE float RowWiseRate(const OptimizerFactors& f, float mean_square, float* accumulator) {
  const hn::CappedTag<float, 1> d1;
  const float h = *accumulator + mean_square;
  *accumulator = h;
  const float denominator = hn::GetLane(hn::Sqrt(hn::Set(d1, h))) + f.eps;
  return f.learning_rate / denominator;
}

/// Row-wise Adagrad's new weights, `rate` from RowWiseRate, the gradient decayed already.
template <WeightDecayMode kDecay, class D, class V = hn::Vec<D>>
HWY_INLINE V RowWiseUpdatedWeight(D d, const OptimizerFactors& f, V rate, V w, V g) {
  return MovedWeight<kDecay>(d, f, w, hn::Mul(rate, g));
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#endif  // HOTROW_OPTIM_OPTIMIZER_MATH_INL_H_
