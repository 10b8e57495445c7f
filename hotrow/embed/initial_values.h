#pragma once
// The values that an embedding table starts from, as a pure function of where they stand.

#include <cstdint>

#include "hotrow/embed/table_config.h"

namespace hotrow {

/// Element (row, column) of a table follows from the words RandomWords(MixSeed(seed, table_index),
/// kEmbeddingInit, row, column / 4). Rows and columns are the whole table's, not a shard's.
///   uniform   word column % 4, as u = UnitFloat(word), gives (2 u - 1) * bound. 2 u - 1 is exact, so one
///             rounding remains and every SIMD width gives the same bits
///   normal    words 0 and 1 give columns 0 and 1 of the block, words 2 and 3 columns 2 and 3, by Box-Muller
///             in double: radius sqrt(-2 log(1 - u)), cosine and sine of 2 pi v
class InitialValues {
 public:
  InitialValues() = default;
  InitialValues(std::uint64_t seed, std::int64_t table_index, const EmbeddingTableConfig& table);

  /// Columns [first_column, first_column + columns) of rows [first_row, first_row + rows) to out[r *
  /// out_stride + c]. first_column is a multiple of 4. About 1 ns an element, 10 ns for
  /// normal ones. Thread-safe.
  void Fill(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns,
            float* out, std::int64_t out_stride) const;

 private:
  void FillUniform(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns,
                   float* out, std::int64_t out_stride) const;
  void FillNormal(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns,
                  float* out, std::int64_t out_stride) const;

  std::uint64_t key_ = 0;
  InitKind kind_ = InitKind::kZeros;
  float scale_ = 0.0F;  // the bound, or the standard deviation
};

}  // namespace hotrow
