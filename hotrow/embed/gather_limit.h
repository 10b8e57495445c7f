#pragma once
// How fast random rows can be read: the rows of the very tables that a benchmark uses, read
// in random order with prefetching and nothing else to do. Rows are drawn evenly over all tables, so a batch
// most of whose ids fall on small tables, which caches hold, can be looked up faster.

#include <span>

#include "hotrow/base/thread_pool.h"
#include "hotrow/embed/table.h"

namespace hotrow {

struct GatherRate {
  double rows_per_s = 0;
  double floats_per_s = 0;  ///< of those rows: what adds up where ranks hold parts of rows
};

/// What all threads together read in a second, the best of three passes over two million rows drawn uniformly
/// from all resident rows of all tables. 0 when no row is resident. Takes well under a second.
GatherRate MeasureGatherLimit(std::span<const EmbeddingTable* const> tables, ThreadPool& pool);

}  // namespace hotrow
