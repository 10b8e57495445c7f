#pragma once
// The values that an embedding table starts from, as a pure function of where they stand.

#include <cstdint>

namespace hotrow {

/// Element (row, column) of a table: word column % 4 of RandomWords(MixSeed(seed, table_index),
/// kEmbeddingInit, row, column / 4), as u = UnitFloat(word), gives (2 u - 1) * bound. 2 u - 1 is exact, so
/// one rounding remains and every SIMD width gives the same bits. Rows and columns are the whole table's, not
/// a shard's.
class InitialValues {
 public:
  InitialValues() = default;
  InitialValues(std::uint64_t seed, std::int64_t table_index, float bound);

  /// Columns [first_column, first_column + columns) of rows [first_row, first_row + rows) to out[r *
  /// out_stride + c]. first_column is a multiple of 4. About 1 ns an element. Thread-safe.
  void Fill(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns,
            float* out, std::int64_t out_stride) const;

 private:
  std::uint64_t key_ = 0;
  float bound_ = 0.0F;
};

}  // namespace hotrow
