#include "hotrow/dense/elementwise.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/dense/elementwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "hotrow/base/index.h"
#include "hotrow/dense/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace {

void CrossForwardSimd(const float* HWY_RESTRICT x0, const float* HWY_RESTRICT u, const float* HWY_RESTRICT x,
                      std::int64_t size, float* HWY_RESTRICT out) {
  ForEachVector(size, [&](auto d, std::int64_t i) HWY_ATTR {
    PrefetchAhead(d, x0 + i, u + i, x + i);
    PrefetchToWrite(d, out + i);
    const auto product = hn::Mul(hn::LoadU(d, x0 + i), hn::LoadU(d, u + i));
    hn::StoreU(hn::Add(product, hn::LoadU(d, x + i)), d, out + i);
  });
}

template <bool kOverwrite, bool kAddGradient>
void CrossBackwardRow(const float* HWY_RESTRICT g, const float* HWY_RESTRICT x0, std::int64_t columns,
                      float* HWY_RESTRICT u_du, float* HWY_RESTRICT dx0, float* HWY_RESTRICT dbias) {
  ForEachVector(columns, [&](auto d, std::int64_t i) HWY_ATTR {
    PrefetchAhead(d, g + i, x0 + i);
    PrefetchToWrite(d, u_du + i, dx0 + i);
    const auto vg = hn::LoadU(d, g + i);
    const auto du = hn::Mul(vg, hn::LoadU(d, x0 + i));
    auto sum = hn::Mul(vg, hn::LoadU(d, u_du + i));
    if constexpr (!kOverwrite) sum = hn::Add(hn::LoadU(d, dx0 + i), sum);
    if constexpr (kAddGradient) sum = hn::Add(sum, vg);
    hn::StoreU(du, d, u_du + i);
    hn::StoreU(sum, d, dx0 + i);
    hn::StoreU(hn::Add(hn::LoadU(d, dbias + i), du), d, dbias + i);
  });
}

void CrossBackwardSimd(const float* g, const float* x0, std::int64_t rows, std::int64_t columns,
                       bool overwrite, bool add_gradient, float* u_du, float* dx0, float* dbias) {
  const auto row_kernel =
      overwrite ? (add_gradient ? CrossBackwardRow<true, true> : CrossBackwardRow<true, false>)
                : (add_gradient ? CrossBackwardRow<false, true> : CrossBackwardRow<false, false>);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t at = row * columns;
    row_kernel(g + at, x0 + at, columns, u_du + at, dx0 + at, dbias);
  }
}

void ReluBackwardSimd(const float* y, std::int64_t y_stride, const float* dy, std::int64_t dy_stride,
                      std::int64_t rows, std::int64_t columns, float* dz, float* HWY_RESTRICT dbias) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* y_row = y + row * y_stride;
    const float* dy_row = dy + row * dy_stride;
    float* dz_row = dz + row * columns;
    ForEachVector(columns, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto positive = hn::Gt(hn::LoadU(d, y_row + i), hn::Zero(d));
      const auto passed = hn::IfThenElseZero(positive, hn::LoadU(d, dy_row + i));
      hn::StoreU(passed, d, dz_row + i);
      hn::StoreU(hn::Add(hn::LoadU(d, dbias + i), passed), d, dbias + i);
    });
  }
}

void OutputForwardSimd(const float* h, const float* w, float bias, std::int64_t rows, std::int64_t columns,
                       float* logits) {
  constexpr int kRows = 4;
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    DotRows<kRows>(w, h + row * columns, columns, columns, logits + row);
    for (int i = 0; i < kRows; ++i) logits[row + i] += bias;
  }
  for (; row < rows; ++row) {
    DotRows<1>(w, h + row * columns, columns, columns, logits + row);
    logits[row] += bias;
  }
}

// dz may be h: a model whose over arch is the output layer alone.
template <bool kRelu>
void OutputBackwardRow(const float* h, const float* HWY_RESTRICT w, float dlogit, std::int64_t columns,
                       float* HWY_RESTRICT dw, float* dz, float* HWY_RESTRICT dbias) {
  ForEachVector(columns, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::Set(d, dlogit);
    const auto vh = hn::LoadU(d, h + i);
    hn::StoreU(hn::Add(hn::LoadU(d, dw + i), hn::Mul(g, vh)), d, dw + i);
    auto out = hn::Mul(g, hn::LoadU(d, w + i));
    if constexpr (kRelu) {
      out = hn::IfThenElseZero(hn::Gt(vh, hn::Zero(d)), out);
      hn::StoreU(hn::Add(hn::LoadU(d, dbias + i), out), d, dbias + i);
    }
    hn::StoreU(out, d, dz + i);
  });
}

void OutputBackwardSimd(const float* h, const float* w, const float* dlogits, std::int64_t rows,
                        std::int64_t columns, float* dw, float* dz, float* dbias) {
  const auto row_kernel = dbias != nullptr ? OutputBackwardRow<true> : OutputBackwardRow<false>;
  for (std::int64_t row = 0; row < rows; ++row) {
    row_kernel(h + row * columns, w, dlogits[row], columns, dw, dz + row * columns, dbias);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {

HWY_EXPORT(CrossForwardSimd);
HWY_EXPORT(CrossBackwardSimd);
HWY_EXPORT(ReluBackwardSimd);
HWY_EXPORT(OutputForwardSimd);
HWY_EXPORT(OutputBackwardSimd);

namespace {

// A sum that starts from zero and one that goes on are the same loop.
void Begin(Accumulate accumulate, float* sums, std::int64_t size) {
  if (accumulate == Accumulate::kNo) std::fill_n(sums, size, 0.0F);
}

}  // namespace

void CrossForward(const float* x0, const float* u, const float* x, std::int64_t size, float* out) {
  HWY_DYNAMIC_DISPATCH(CrossForwardSimd)(x0, u, x, size, out);
}

void CrossBackward(const float* g, const float* x0, std::int64_t rows, std::int64_t columns,
                   CrossBackwardTerms terms, Accumulate accumulate, float* u_du, float* dx0, float* dbias) {
  Begin(accumulate, dbias, columns);
  HWY_DYNAMIC_DISPATCH(CrossBackwardSimd)
  (g, x0, rows, columns, terms.overwrite, terms.add_gradient, u_du, dx0, dbias);
}

void ReluBackward(const float* y, std::int64_t y_stride, const float* dy, std::int64_t dy_stride,
                  std::int64_t rows, std::int64_t columns, Accumulate accumulate, float* dz, float* dbias) {
  Begin(accumulate, dbias, columns);
  HWY_DYNAMIC_DISPATCH(ReluBackwardSimd)(y, y_stride, dy, dy_stride, rows, columns, dz, dbias);
}

void OutputForward(const float* h, const float* w, float bias, std::int64_t rows, std::int64_t columns,
                   float* logits) {
  HWY_DYNAMIC_DISPATCH(OutputForwardSimd)(h, w, bias, rows, columns, logits);
}

void OutputBackward(const float* h, const float* w, const float* dlogits, std::int64_t rows,
                    std::int64_t columns, Accumulate accumulate, float* dw, float* dz, float* dbias) {
  Begin(accumulate, dw, columns);
  if (dbias != nullptr) Begin(accumulate, dbias, columns);
  HWY_DYNAMIC_DISPATCH(OutputBackwardSimd)(h, w, dlogits, rows, columns, dw, dz, dbias);
}

void CopyRows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float* to,
              std::int64_t to_stride) {
  if (columns == 0) return;  // then `from` may be null, which memcpy does not take
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride, Index(columns) * sizeof(float));
  }
}

}  // namespace hotrow
#endif  // HWY_ONCE
