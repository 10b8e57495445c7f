#pragma once
// What the memory of this machine allows a lookup and a backward: the rows of the very tables that a
// benchmark uses, read, or read and written back, with prefetching and nothing else to do. Rows are drawn
// evenly over all resident rows of all tables, so a batch most of whose ids fall on small tables, which
// caches hold, can be served faster.

#include <span>

#include "hotrow/embed/table.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// Of all threads together; 0 where no row is resident.
struct RowRate {
  double rows_per_s = 0;
  double weights_per_s = 0;  ///< of those rows: what adds up where ranks hold parts of rows
};

struct RowLimits {
  RowRate gather;  ///< a row's weights read, in random order: what a lookup does
  /// Weights and optimizer state read and written back, distinct rows in ascending order: what a backward
  /// does once its entries are sorted.
  RowRate update;
};

/// Writes back what it reads, so the tables keep their values; nothing else may use them meanwhile. Takes
/// about a second.
RowLimits MeasureRowLimits(std::span<const EmbeddingTable* const> tables, ThreadPool& pool);

}  // namespace hotrow
