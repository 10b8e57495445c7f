#pragma once
// The passes over activations that are not matrix products, each fused as far as its operands allow: beside a
// GEMM they are bound by memory, so what counts is how often an array is read.
//
// Every element is computed with the same correctly rounded operations whatever the vector width, and every
// column sum runs in row order: one set of bits on all CPUs' vector units. Matrices are row-major and dense
// unless a stride is given.

#include <cstdint>

namespace hotrow {

/// Whether a gradient is the first of its unit or goes on top of an earlier micro-batch's.
enum class Accumulate : bool { kNo = false, kYes = true };

/// out = x0 * u + x, `size` elements. The cross layer after its two products.
void CrossForward(const float* x0, const float* u, const float* x, std::int64_t size, float* out);

/// Which terms the gradient of the cross net's input gets at a layer: dx0 (+)= g * u (+ g). The net's last
/// layer, met first, overwrites; its first layer, met last, adds g itself, for there x is x0.
struct CrossBackwardTerms {
  bool overwrite = false;
  bool add_gradient = false;
};

/// One layer backward: du = g * x0 replaces u, dx0 gets its terms, dbias (+)= column sums of du.
void CrossBackward(const float* g, const float* x0, std::int64_t rows, std::int64_t columns,
                   CrossBackwardTerms terms, Accumulate accumulate, float* u_du, float* dx0, float* dbias);

/// dz = y > 0 ? dy : 0 with row strides for y and dy, and dbias (+)= column sums of dz. dz may be dy.
void ReluBackward(const float* y, std::int64_t y_stride, const float* dy, std::int64_t dy_stride,
                  std::int64_t rows, std::int64_t columns, Accumulate accumulate, float* dz, float* dbias);

/// logits[i] = h[i, :] · w + bias: 16 running sums of a row's products, then a tree.
void OutputForward(const float* h, const float* w, float bias, std::int64_t rows, std::int64_t columns,
                   float* logits);

/// The output layer backward: dw (+)= Σ dlogits[i] h[i, :], dz[i, :] = dlogits[i] w. With `dbias` (h is the
/// output of a ReLU layer whose bias it is) dz is zero where h is not positive and dbias (+)= column sums of
/// dz. dz may be h.
void OutputBackward(const float* h, const float* w, const float* dlogits, std::int64_t rows,
                    std::int64_t columns, Accumulate accumulate, float* dw, float* dz, float* dbias);

/// Copies [rows, columns] between strides.
void CopyRows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float* to,
              std::int64_t to_stride);

}  // namespace hotrow
