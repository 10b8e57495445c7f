#pragma once
// Splits a feature's ids by the rank that owns their rows: FBGEMM's block_bucketize. Bucket b owns rows
// [b * block_size, (b + 1) * block_size); an id becomes a row of its bucket. Every bucket gets a bag, often
// an empty one, for every sample; the ids of a bag keep their order. An id of -1 has no owner and is left
// out.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// Where one bucket of a feature goes.
struct BucketPlace {
  std::int32_t* lengths = nullptr;  ///< [samples]
  std::byte* ids = nullptr;         ///< [count], of the width given to Scatter
  float* weights = nullptr;         ///< [count], where the bags have weights
  std::int64_t count = 0;           ///< ids, set by Count
};

struct BucketizedFeature {
  FeatureBags bags;  ///< ids of 8 bytes
  std::int64_t block_size = 1;
  std::vector<BucketPlace> buckets;  ///< enough for every row
};

class Bucketizer {
 public:
  /// Writes lengths and sets counts.
  void Count(std::span<BucketizedFeature> features, ThreadPool& pool);
  /// Then, for the same features with ids and weights placed: writes those, ids of 4 or 8 bytes.
  void Scatter(std::span<const BucketizedFeature> features, int id_bytes, ThreadPool& pool);

 private:
  struct Chunk {
    std::int64_t feature = 0;
    std::int64_t first_sample = 0;
    std::int64_t end_sample = 0;
    std::int64_t first_total = 0;  // of its [buckets] in totals_
  };

  std::vector<Chunk> chunks_;
  Buffer<std::int64_t> totals_;  // ids of each bucket in a chunk, then those before it
};

}  // namespace hotrow
