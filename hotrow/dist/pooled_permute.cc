#include "hotrow/dist/pooled_permute.h"

#include <algorithm>

#include "hotrow/dist/for_each_row.h"

namespace hotrow {

std::int64_t PooledPermute::Run(const std::vector<ColumnMove>& moves, std::int64_t rows, const float* in,
                                float* out, ThreadPool& pool) {
  // Where each move stands in the packed rows of the result.
  std::vector<std::size_t> by_target(moves.size());
  for (std::size_t i = 0; i < moves.size(); ++i) by_target[i] = i;
  std::sort(by_target.begin(), by_target.end(),
            [&](std::size_t a, std::size_t b) { return moves[a].to.first < moves[b].to.first; });
  std::vector<std::int64_t> place(moves.size());
  std::int64_t width = 0;
  for (const std::size_t i : by_target) {
    place[i] = width;
    width += moves[i].columns;
  }
  before_.EnsureSize(rows * width);
  after_.EnsureSize(rows * width);

  ForEachRow(rows, pool, [&](std::int64_t row, int) {
    float* to = before_.data() + row * width;
    for (const ColumnMove& move : moves)
      to = std::copy_n(in + move.from.first + row * move.from.stride, move.columns, to);
  });
  ForEachRow(rows, pool, [&](std::int64_t row, int) {
    const float* from = before_.data() + row * width;
    for (std::size_t i = 0; i < moves.size(); ++i) {
      std::copy_n(from, moves[i].columns, after_.data() + row * width + place[i]);
      from += moves[i].columns;
    }
  });
  ForEachRow(rows, pool, [&](std::int64_t row, int) {
    for (std::size_t i = 0; i < moves.size(); ++i) {
      std::copy_n(after_.data() + row * width + place[i], moves[i].columns,
                  out + moves[i].to.first + row * moves[i].to.stride);
    }
  });
  return 6 * rows * width * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace hotrow
