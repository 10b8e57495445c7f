#include "hotrow/dense/dot_interaction.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/dense/dot_interaction.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "hotrow/base/index.h"
#include "hotrow/dense/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace {

void DotForwardSimd(const float* x, std::int64_t rows, std::int64_t vectors, std::int64_t dim,
                    std::int64_t out_stride, float* out) {
  constexpr int kBlock =
      4;  // dot products at a time: they share a loaded operand and hide each other's latency
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* first = x + row * vectors * dim;
    float* to = out + row * out_stride;
    std::memcpy(to, first, Index(dim) * sizeof(float));
    to += dim;
    for (std::int64_t i = 0; i < vectors; ++i) {
      const float* a = first + i * dim;
      std::int64_t j = i + 1;
      for (; j + kBlock <= vectors; j += kBlock, to += kBlock)
        DotRows<kBlock>(a, first + j * dim, dim, dim, to);
      for (; j < vectors; ++j, ++to) DotRows<1>(a, first + j * dim, dim, dim, to);
    }
  }
}

// Where pair (i, j), i < j, stands after the dense columns.
HWY_INLINE std::int64_t PairIndex(std::int64_t i, std::int64_t j, std::int64_t vectors) {
  return i * (2 * vectors - i - 1) / 2 + j - i - 1;
}

// One vector's gradient, `kVectors` SIMD vectors of it at a time in registers.
template <int kVectors, class D>
HWY_INLINE void DotBackwardColumns(D d, const float* HWY_RESTRICT x, const float* HWY_RESTRICT pairs,
                                   const float* HWY_RESTRICT start, std::int64_t i, std::int64_t vectors,
                                   std::int64_t dim, float* HWY_RESTRICT dx) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kVectors];
  for (int v = 0; v < kVectors; ++v)
    sums[v] = start != nullptr ? hn::LoadU(d, start + v * lanes) : hn::Zero(d);
  for (std::int64_t j = 0; j < vectors; ++j) {
    if (j == i) continue;
    const auto factor = hn::Set(d, pairs[j < i ? PairIndex(j, i, vectors) : PairIndex(i, j, vectors)]);
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::Add(sums[v], hn::Mul(factor, hn::LoadU(d, x + j * dim + v * lanes)));
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, dx + v * lanes);
}

void DotBackwardSimd(const float* x, const float* dout, std::int64_t rows, std::int64_t vectors,
                     std::int64_t dim, std::int64_t out_stride, float* dx) {
  constexpr int kBlock = 4;
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> d1;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* first = x + row * vectors * dim;
    const float* g = dout + row * out_stride;
    for (std::int64_t i = 0; i < vectors; ++i) {
      float* to = dx + (row * vectors + i) * dim;
      const auto start = [&](std::int64_t c) { return i == 0 ? g + c : nullptr; };
      std::int64_t c = 0;
      for (; c + kBlock * lanes <= dim; c += kBlock * lanes) {
        DotBackwardColumns<kBlock>(d, first + c, g + dim, start(c), i, vectors, dim, to + c);
      }
      for (; c + lanes <= dim; c += lanes) {
        DotBackwardColumns<1>(d, first + c, g + dim, start(c), i, vectors, dim, to + c);
      }
      for (; c < dim; ++c) DotBackwardColumns<1>(d1, first + c, g + dim, start(c), i, vectors, dim, to + c);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {

HWY_EXPORT(DotForwardSimd);
HWY_EXPORT(DotBackwardSimd);

void DotForward(const float* x, std::int64_t rows, std::int64_t vectors, std::int64_t dim,
                std::int64_t out_stride, float* out) {
  HWY_DYNAMIC_DISPATCH(DotForwardSimd)(x, rows, vectors, dim, out_stride, out);
}

void DotBackward(const float* x, const float* dout, std::int64_t rows, std::int64_t vectors, std::int64_t dim,
                 std::int64_t out_stride, float* dx) {
  HWY_DYNAMIC_DISPATCH(DotBackwardSimd)(x, dout, rows, vectors, dim, out_stride, dx);
}

namespace {

class DotRunner : public InteractionRunner {
 public:
  DotRunner(std::int64_t vectors, std::int64_t dim, std::int64_t stride, Arena& arena, std::int64_t rows)
      : vectors_(vectors),
        dim_(dim),
        stride_(stride),
        arena_(&arena),
        output_(arena.Add(rows * stride)),
        output_gradient_(arena.Add(rows * stride)) {}

  void Prepare(std::int64_t, std::optional<Accumulate>) override {}  // no matrix products
  const float* Forward(std::int64_t rows, const float* x) override {
    DotForward(x, rows, vectors_, dim_, stride_, arena_->at(output_));
    return arena_->at(output_);
  }
  float* output_gradient() override { return arena_->at(output_gradient_); }
  void Backward(std::int64_t rows, const float* x, Accumulate, float*, float* dx) override {
    DotBackward(x, output_gradient(), rows, vectors_, dim_, stride_, dx);
  }

 private:
  std::int64_t vectors_;
  std::int64_t dim_;
  std::int64_t stride_;
  Arena* arena_;
  std::int64_t output_;
  std::int64_t output_gradient_;
};

}  // namespace

DotInteraction::DotInteraction(std::int64_t num_features, std::int64_t dim)
    : vectors_(num_features + 1),
      dim_(dim),
      out_(dim + num_features * (num_features + 1) / 2),
      out_padded_(RoundUp(out_, 16)) {}

std::unique_ptr<InteractionRunner> DotInteraction::MakeRunner(GemmScratch&, Arena& arena,
                                                              std::int64_t rows) const {
  return std::make_unique<DotRunner>(vectors_, dim_, out_padded_, arena, rows);
}

}  // namespace hotrow
#endif  // HWY_ONCE
