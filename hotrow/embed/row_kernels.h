#pragma once
// Kernels on rows that several backwards share, dispatched by CPU feature at run time.

#include <cstdint>
#include <span>

#include "hotrow/embed/backward_scratch.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/embed/entry_sorter.h"
#include "hotrow/embed/reduction_units.h"
#include "hotrow/embed/rows_view.h"
#include "hotrow/optim/optimizer_config.h"
#include "hotrow/optim/optimizer_factors.h"

namespace hotrow {

/// Where the gradient of the entries' row `key` goes: gradients + bits.Row(key) * dim, or, where
/// `rows` is not null, one after another in the order of the entries, with the row written to `rows`.
struct GradientSink {
  float* gradients = nullptr;
  std::int64_t* rows = nullptr;
};

/// Sums the rows' gradients of a sorted, padded bucket of `input` (RowWalker) into `sink`.
void SumBucketRows(const EntrySorter::Bucket& bucket, std::span<const Entry> entries,
                   const BagGradients& input, const ReductionUnits& units, float* partials,
                   const GradientSink& sink);
void SumBucketRows(const EntrySorter::Bucket& bucket, std::span<const ScaledEntry> entries,
                   const BagGradients& input, const ReductionUnits& units, float* partials,
                   const GradientSink& sink);

/// Rows to be updated, and what with.
struct RowBlock {
  RowsView view;
  const std::int64_t* rows = nullptr;  ///< which rows, all resident; null: first, first + 1, ...
  std::int64_t first = 0;
  std::int64_t count = 0;
  const float* gradients = nullptr;  ///< [count, view.layout.dim]
};

/// The optimizer on each row of the block; `mean_squares` [count] or null, as in ApplyToRows.
void UpdateRowBlock(const RowBlock& block, const OptimizerConfig& optimizer, const OptimizerFactors& factors,
                    const float* mean_squares, const BackwardScratch::Rows& scratch);

/// groups[SquareGroups(dim)] of one gradient row; `weights` [dim] where L2 decay is to be added, else null.
void SquareGroupsOfRow(const float* gradient, const float* weights, std::int64_t dim,
                       const OptimizerFactors& factors, const BackwardScratch::Rows& scratch, float* groups);

}  // namespace hotrow
