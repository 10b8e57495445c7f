#pragma once
// Per-thread memory of a backward: rows being summed and updated. Kept between steps.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/reduction_units.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

class BackwardScratch {
 public:
  /// One thread's, for rows of `dim` columns.
  struct Rows {
    float* partials = nullptr;  ///< [ReductionUnits::kMaxPartials, RoundUp(dim, 16)]
    float* decayed = nullptr;   ///< [RoundUp(dim, 16)]
  };

  void EnsureSize(std::span<const BagGradients> tables, const ThreadPool& pool) {
    std::int64_t widest = 0;
    for (const BagGradients& input : tables) widest = std::max(widest, input.table->dim());
    EnsureSize(widest, pool);
  }
  void EnsureSize(std::int64_t dim, const ThreadPool& pool) {
    if (threads_.size() < Index(pool.size())) threads_.resize(Index(pool.size()));
    for (Buffer<float>& buffer : threads_) buffer.EnsureSize(Floats(dim));
  }

  Rows Of(int thread, std::int64_t dim) {
    float* data = threads_[Index(thread)].data();
    const std::int64_t row = RoundUp(dim, 16);
    return {data, data + ReductionUnits::kMaxPartials * row};
  }

 private:
  static std::int64_t Floats(std::int64_t dim) {
    return (ReductionUnits::kMaxPartials + 1) * RoundUp(dim, 16);
  }

  std::vector<Buffer<float>> threads_;
};

}  // namespace hotrow
