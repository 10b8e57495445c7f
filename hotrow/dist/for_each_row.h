#pragma once
// Rows of pooled values, shared out over threads.

#include <algorithm>
#include <cstdint>

#include "hotrow/base/size.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// Calls body(row, thread) for every row, on all threads, some tens of rows at a time.
template <typename Body>
void ForEachRow(std::int64_t rows, ThreadPool& pool, Body&& body) {
  constexpr std::int64_t kRowsATask = 64;
  pool.Run(CeilDiv(rows, kRowsATask), [&](std::int64_t task, int thread) {
    const std::int64_t end = std::min(rows, (task + 1) * kRowsATask);
    for (std::int64_t row = task * kRowsATask; row < end; ++row) body(row, thread);
  });
}

}  // namespace hotrow
