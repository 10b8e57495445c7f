#include "hotrow/dense/dense_optimizer.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/tree_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/dense/dense_optimizer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "hotrow/dense/lanes-inl.h"
#include "hotrow/optim/optimizer_math-inl.h"

#ifndef HOTROW_DENSE_DENSE_OPTIMIZER_CC_
#define HOTROW_DENSE_DENSE_OPTIMIZER_CC_
namespace hotrow {

// What one call of a kernel works on: elements [begin, end) of the flat arrays.
struct UpdateJob {
  const OptimizerConfig* config = nullptr;
  OptimizerFactors factors;
  float gradient_factor = 1.0F;
  float* weights = nullptr;
  float* state[2] = {};
  const float* const* gradients = nullptr;  // of the units present, ascending
  const std::uint64_t* units = nullptr;     // their numbers
  std::int64_t num_units = 0;
  bool first_eight = false;  // the units are 0 … 7, the usual case
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

}  // namespace hotrow
#endif  // HOTROW_DENSE_DENSE_OPTIMIZER_CC_

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace {

// gradient(d, i) is the summed gradient of the elements at i.
template <OptimizerKind kKind, WeightDecayMode kDecay, class Gradient>
HWY_INLINE void Update(const UpdateJob& job, std::int64_t begin, std::int64_t end, Gradient&& gradient) {
  float* HWY_RESTRICT weights = job.weights;
  float* HWY_RESTRICT first = job.state[0];
  float* HWY_RESTRICT second = job.state[1];
  const OptimizerFactors f = job.factors;
  const float factor = job.gradient_factor;
  ForEachVector(end - begin, [&](auto d, std::int64_t offset) HWY_ATTR {
    const std::int64_t i = begin + offset;
    constexpr int kState = OptimizerStateVectors(kKind);
    auto s0 = hn::Zero(d), s1 = hn::Zero(d);
    PrefetchToWrite(d, weights + i);
    if constexpr (kState > 0) PrefetchToWrite(d, first + i);
    if constexpr (kState > 1) PrefetchToWrite(d, second + i);
    if constexpr (kState > 0) s0 = hn::LoadU(d, first + i);
    if constexpr (kState > 1) s1 = hn::LoadU(d, second + i);
    const auto g = hn::Mul(gradient(d, i), hn::Set(d, factor));
    const auto w = UpdatedWeight<kKind, kDecay>(d, f, hn::LoadU(d, weights + i), g, s0, s1);
    hn::StoreU(w, d, weights + i);
    if constexpr (kState > 0) hn::StoreU(s0, d, first + i);
    if constexpr (kState > 1) hn::StoreU(s1, d, second + i);
  });
}

// Eight units, all there: the tree is a line of adds.
template <OptimizerKind kKind, WeightDecayMode kDecay>
void UpdateFromEight(const UpdateJob& job) {
  const float* const HWY_RESTRICT g0 = job.gradients[0];
  const float* const HWY_RESTRICT g1 = job.gradients[1];
  const float* const HWY_RESTRICT g2 = job.gradients[2];
  const float* const HWY_RESTRICT g3 = job.gradients[3];
  const float* const HWY_RESTRICT g4 = job.gradients[4];
  const float* const HWY_RESTRICT g5 = job.gradients[5];
  const float* const HWY_RESTRICT g6 = job.gradients[6];
  const float* const HWY_RESTRICT g7 = job.gradients[7];
  Update<kKind, kDecay>(job, job.begin, job.end, [&](auto d, std::int64_t i) HWY_ATTR {
    PrefetchAhead(d, g0 + i, g1 + i, g2 + i, g3 + i, g4 + i, g5 + i, g6 + i, g7 + i);
    const auto low = hn::Add(hn::Add(hn::LoadU(d, g0 + i), hn::LoadU(d, g1 + i)),
                             hn::Add(hn::LoadU(d, g2 + i), hn::LoadU(d, g3 + i)));
    const auto high = hn::Add(hn::Add(hn::LoadU(d, g4 + i), hn::LoadU(d, g5 + i)),
                              hn::Add(hn::LoadU(d, g6 + i), hn::LoadU(d, g7 + i)));
    return hn::Add(low, high);
  });
}

// Partial sums of a few elements at a time on a stack, as the tree asks.
constexpr std::int64_t kBlock = 256;
struct BlockSums {
  alignas(64) float slots[65][kBlock];
};

// The sum of any units' gradients of the elements [begin, begin + size), size <= kBlock.
HWY_INLINE const float* SumBlock(const UpdateJob& job, std::int64_t begin, std::int64_t size,
                                 BlockSums& sums) {
  const auto merge = [&](int into, int from) HWY_ATTR {
    float* to = sums.slots[into];
    ForEachVector(size, [&](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, sums.slots[from] + i)), d, to + i);
    });
  };
  TreeStack stack;
  for (std::int64_t u = 0; u < job.num_units; ++u) {
    std::copy_n(job.gradients[u] + begin, size, sums.slots[stack.Push(job.units[u], merge)]);
  }
  if (!stack.Finish(merge)) std::fill_n(sums.slots[0], size, 0.0F);
  return sums.slots[0];
}

template <OptimizerKind kKind, WeightDecayMode kDecay>
void UpdateFromAny(const UpdateJob& job) {
  BlockSums sums;
  for (std::int64_t begin = job.begin; begin < job.end; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, job.end - begin);
    const float* sum = SumBlock(job, begin, size, sums);
    Update<kKind, kDecay>(job, begin, begin + size,
                          [&](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, sum + (i - begin)); });
  }
}

void SumSimd(const UpdateJob& job, float* out) {
  BlockSums sums;
  for (std::int64_t begin = job.begin; begin < job.end; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, job.end - begin);
    std::copy_n(SumBlock(job, begin, size, sums), size, out + (begin - job.begin));
  }
}

void UpdateSimd(const UpdateJob& job) {
  DispatchOptimizer(*job.config, [&](auto kind, auto decay) HWY_ATTR {
    // The constructor has made row-wise Adagrad Adagrad.
    if constexpr (kind.value != OptimizerKind::kRowWiseAdagrad) {
      if (job.first_eight) {
        UpdateFromEight<kind.value, decay.value>(job);
      } else {
        UpdateFromAny<kind.value, decay.value>(job);
      }
    }
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {

HWY_EXPORT(UpdateSimd);
HWY_EXPORT(SumSimd);

DenseOptimizer::DenseOptimizer(const OptimizerConfig& config, const Parameters& parameters)
    : config_(config) {
  Validate(config);
  if (config_.kind == OptimizerKind::kRowWiseAdagrad) config_.kind = OptimizerKind::kAdagrad;
  state_size_ = StateWidth(config_.kind, 1) * parameters.padded_size();
  state_.Add(0);  // the weights' place
  state_.Add(state_size_);
  state_.Allocate();
  std::ranges::fill(state(), InitialState(config_));
}

void DenseOptimizer::Step(Parameters& parameters, std::span<const float* const> unit_gradients,
                          OptimizerStep step, ThreadPool& pool) {
  DenseUpdate update;
  update.Begin(*this, parameters, unit_gradients, step);
  const std::int64_t parts = CeilDiv(parameters.padded_size(), DenseUpdate::kPart);
  pool.Run(parts, [&](std::int64_t part, int) {
    const std::int64_t begin = part * DenseUpdate::kPart;
    update.Run({begin, std::min(parameters.padded_size(), begin + DenseUpdate::kPart)});
  });
}

void DenseUpdate::Begin(DenseOptimizer& optimizer, Parameters& parameters,
                        std::span<const float* const> unit_gradients, OptimizerStep step,
                        float gradient_factor) {
  config_ = &optimizer.config();
  gradient_factor_ = gradient_factor;
  factors_ = MakeOptimizerFactors(*config_, step);
  parameters_ = &parameters;
  const std::span<float> state = optimizer.state();
  const auto size = static_cast<std::size_t>(parameters.padded_size());
  state_[0] = state.empty() ? nullptr : state.data();
  state_[1] = state.size() > size ? state.data() + size : nullptr;
  gradients_.clear();
  units_.clear();
  for (std::size_t unit = 0; unit < unit_gradients.size(); ++unit) {
    if (unit_gradients[unit] == nullptr) continue;
    gradients_.push_back(unit_gradients[unit]);
    units_.push_back(unit);
  }
}

UpdateJob DenseUpdate::JobOf(Slice elements) const {
  UpdateJob job;
  job.config = config_;
  job.factors = factors_;
  job.gradient_factor = gradient_factor_;
  job.weights = parameters_->weights();
  job.state[0] = state_[0];
  job.state[1] = state_[1];
  job.gradients = gradients_.data();
  job.units = units_.data();
  job.num_units = static_cast<std::int64_t>(units_.size());
  job.first_eight = units_.size() == 8 && units_.back() == 7;
  job.begin = elements.begin;
  job.end = elements.end;
  return job;
}

void DenseUpdate::Run(Slice elements) const {
  HWY_DYNAMIC_DISPATCH(UpdateSimd)(JobOf(elements));
  // Where eps is 0, a gradient that was always 0 makes 0 / 0; in padding that would reach real columns.
  parameters_->ZeroPadding(parameters_->weights(), elements);
}

double DenseUpdate::SumGradients(Slice elements, float* out) const {
  HWY_DYNAMIC_DISPATCH(SumSimd)(JobOf(elements), out);
  // Several running sums, so that one addition need not wait for the last.
  constexpr std::int64_t kSums = 8;
  double squares[kSums] = {};
  for (std::int64_t i = 0; i < elements.size(); ++i) {
    const double g = out[i];
    squares[i % kSums] += g * g;
  }
  double total = 0;
  for (const double sum : squares) total += sum;
  return total;
}

std::uint64_t DenseOptimizer::StateHash(const Parameters& parameters) const {
  std::uint64_t hash = 0;
  for (std::int64_t plane = 0; plane * parameters.padded_size() < state_size_; ++plane) {
    const std::uint64_t one = parameters.Hash(state_.at(1) + plane * parameters.padded_size());
    hash += plane == 0 ? one : MixSeed(one, static_cast<std::uint64_t>(plane));
  }
  return hash;
}

UnitGradients::UnitGradients(std::int64_t padded_size, std::int64_t units)
    : padded_size_(padded_size), units_(units) {
  for (std::int64_t i = 0; i < kBefore; ++i) arena_.Add(0);
  for (std::int64_t unit = 0; unit < units; ++unit) arena_.Add(padded_size);
  arena_.Allocate();
}

}  // namespace hotrow
#endif  // HWY_ONCE
