#pragma once
// The limit a training step is measured against: the same matrix products run alone.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/dense/dense_optimizer.h"
#include "hotrow/dense/linear.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/model/tower.h"

namespace hotrow {

/// One kind of product of a model and what it reaches.
struct GemmReport {
  std::string name;  ///< of the weight, with what is computed: "over_arch.model.0._mlp.0._linear.weight dx"
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string implementation;  ///< the library's name of the kernel
  bool is_reference = false;   ///< it fell back to the slow one
  double gflops = 0.0;         ///< of all threads together, each running its own
};

/// Forward, dX and dW products of one batch with a step's shapes: the same micro-batches, units claimed one
/// by one by the pool's threads, a gradient buffer a unit, dW accumulated over a unit's micro-batches, packed
/// weights, bias as a post-op. Nothing else: no ReLU, no residual sum, no element-wise work, no packing, no
/// optimizer. So it is what a plain loop over these products can reach, and faster than any step.
class GemmLimit {
 public:
  /// The layers whose products are run, with the tower's weights, which must outlive them; ranks that share a
  /// tower may share these too. Memory: the weights packed twice.
  using Layers = std::vector<Linear>;
  static std::shared_ptr<const Layers> MakeLayers(Tower& tower);

  /// A batch, or a rank's slice of one, of `reduction_units`. Memory: some activations a thread. `gradients`,
  /// of the model's size, one a unit (and for Report one a thread) at least, are written to; a trainer's may
  /// be borrowed between steps. All must outlive this.
  GemmLimit(Tower& tower, std::shared_ptr<const Layers> layers, std::int64_t batch,
            std::int64_t reduction_units, UnitGradients& gradients, ThreadPool& pool);
  ~GemmLimit();

  /// Runs the batch's products once; returns seconds. The first run also makes the products: discard it.
  double RunOnce();
  std::int64_t batch() const { return batch_; }
  /// Floating-point operations of a run.
  double flop() const;

  /// Times every distinct product by itself, for about `seconds_each`. What an interfering machine took is
  /// left out as far as possible: the fastest repetition counts.
  std::vector<GemmReport> Report(double seconds_each);

 private:
  enum class Product { kForward, kInputGradient, kWeightGradient };
  struct Thread;
  void Run(std::size_t layer, Product product, std::int64_t rows, Accumulate accumulate, std::int64_t unit,
           Thread& thread);
  double Measure(std::size_t layer, Product product, std::int64_t rows, double seconds);

  std::int64_t batch_;
  std::int64_t units_;
  ThreadPool& pool_;
  const std::int64_t micro_batch_;
  const Parameters& parameters_;
  std::shared_ptr<const Layers> layers_;
  UnitGradients& gradients_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace hotrow
