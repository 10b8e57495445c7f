#pragma once
// A linear layer, with or without bias and ReLU: the weights as all threads share them, and the products as
// one thread runs them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/dense/elementwise.h"
#include "hotrow/dense/gemm.h"
#include "hotrow/dense/parameters.h"

namespace hotrow {

struct LinearSpec {
  std::int64_t weight = 0;           ///< parameter [in, out]
  std::optional<std::int64_t> bias;  ///< parameter [out]
  bool relu = false;
  bool input_gradient = true;       ///< false: nothing needs dx (the first layer of all)
  bool add_input_gradient = false;  ///< dx += instead of dx = (a residual path)
};

/// The weights of a layer, packed for forward (W) and for the input gradient (Wᵀ).
class Linear {
 public:
  /// `parameters` must outlive the layer; `rows` is the usual number of rows of a product.
  Linear(const Parameters& parameters, const LinearSpec& spec, std::int64_t rows);

  const LinearSpec& spec() const { return spec_; }
  std::int64_t in() const { return in_; }  ///< padded: columns that x must have
  std::int64_t out() const { return out_; }

  /// Packing is num_packs() independent jobs; after all of them the products use the parameters' present
  /// weights.
  int num_packs() const { return input_gradient_weights_ ? 2 : 1; }
  void Pack(int job);

  /// What each product computes for a micro-batch of `rows`.
  GemmSpec ForwardSpec(std::int64_t rows) const;
  GemmSpec InputGradientSpec(std::int64_t rows) const;
  GemmSpec WeightGradientSpec(std::int64_t rows, Accumulate accumulate) const;

 private:
  friend class LinearRunner;
  const Parameters* parameters_;
  LinearSpec spec_;
  std::int64_t in_;
  std::int64_t out_;
  PackedWeights forward_weights_;
  std::optional<PackedWeights> input_gradient_weights_;
};

/// A layer's products for one thread. Products are made by Prepare, or else when a number of rows is first
/// seen, and kept, the sixteen numbers last used: a training run sees two or three.
class LinearRunner {
 public:
  /// Both must outlive the runner.
  LinearRunner(const Linear& linear, GemmScratch& scratch) : linear_(&linear), scratch_(&scratch) {}

  const Linear& linear() const { return *linear_; }

  /// Makes the products of a forward and, unless nullopt, of a backward whose weight gradient accumulates so.
  void Prepare(std::int64_t rows, std::optional<Accumulate> backward);

  /// y[rows, out] = relu(x[rows, in] · W + bias), as far as the layer has them.
  void Forward(std::int64_t rows, const float* x, float* y);
  /// dx[rows, in] (+)= dz · Wᵀ. dz is the gradient of what stands before the ReLU.
  void InputGradient(std::int64_t rows, const float* dz, float* dx);
  /// The weight's part of the flat gradient (+)= xᵀ · dz.
  void WeightGradient(std::int64_t rows, const float* x, const float* dz, Accumulate accumulate,
                      float* gradient);

  /// The kernels that were chosen for a number of rows, by the library's names; the products are made if need
  /// be. An input gradient only where the layer has one.
  const Gemm& ForwardProduct(std::int64_t rows);
  const Gemm& InputGradientProduct(std::int64_t rows);
  const Gemm& WeightGradientProduct(std::int64_t rows, Accumulate accumulate);

  /// Where the bias stands in a flat gradient; null without one.
  float* BiasGradient(float* gradient) const;

 private:
  struct Products {
    std::int64_t rows = 0;
    std::uint64_t last_use = 0;
    std::optional<Gemm> forward;
    std::optional<Gemm> input_gradient;
    std::optional<Gemm> weight_gradient[2];  // by Accumulate
  };
  Products& ForRows(std::int64_t rows);
  Gemm& MadeForward(std::int64_t rows);
  Gemm& MadeInputGradient(std::int64_t rows);
  Gemm& MadeWeightGradient(std::int64_t rows, Accumulate accumulate);

  const Linear* linear_;
  GemmScratch* scratch_;
  std::uint64_t uses_ = 0;
  std::vector<Products> products_;
};

/// Adds "PREFIX.weight" and "PREFIX.bias" of a linear layer and returns its spec.
LinearSpec AddLinear(Parameters& parameters, const std::string& prefix, std::int64_t in, std::int64_t out,
                     bool relu, std::int64_t in_padding = 1);

}  // namespace hotrow
