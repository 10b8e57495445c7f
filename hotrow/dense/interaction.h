#pragma once
// What stands between the embeddings and the over arch: a cross net (DLRM-DCN) or pairwise dot products
// (DLRM).

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hotrow/dense/arena.h"
#include "hotrow/dense/linear.h"

namespace hotrow {

/// Activations of one thread. x is [rows, width], the dense arch's output first.
class InteractionRunner {
 public:
  virtual ~InteractionRunner() = default;

  /// As LinearRunner's, for all layers.
  virtual void Prepare(std::int64_t rows, std::optional<Accumulate> backward) = 0;

  /// The over arch's input [rows, out_padded()], kept until output_gradient() is written.
  virtual const float* Forward(std::int64_t rows, const float* x) = 0;

  /// Where the gradient of Forward's result belongs, same shape. It may be the same memory: the caller writes
  /// it when that result has been read for the last time.
  virtual float* output_gradient() = 0;

  /// From output_gradient() to dx [rows, width], overwritten, and to the parameters' parts of the flat
  /// gradient.
  virtual void Backward(std::int64_t rows, const float* x, Accumulate accumulate, float* gradient,
                        float* dx) = 0;
};

/// The part that threads share.
class InteractionArch {
 public:
  virtual ~InteractionArch() = default;

  virtual std::int64_t out() const = 0;         ///< columns that mean something
  virtual std::int64_t out_padded() const = 0;  ///< columns as they lie in memory; the others are zero
  /// The layers that have weights, in forward order.
  virtual std::vector<Linear*> linears() = 0;
  /// Takes room for at most `rows` rows from the arena, which is allocated before the runner's first call.
  virtual std::unique_ptr<InteractionRunner> MakeRunner(GemmScratch& scratch, Arena& arena,
                                                        std::int64_t rows) const = 0;
};

}  // namespace hotrow
