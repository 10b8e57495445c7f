#pragma once
// Brings a batch's (row, bag) pairs together by row, so that each touched row is summed and updated once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/buffer.h"
#include "hotrow/base/thread_pool.h"
#include "hotrow/embed/bag_gradients.h"

namespace hotrow {

/// One id of a batch. `row` lacks the bits that its bucket stands for; `bag` is sample << bag_shift |
/// feature's place.
struct Entry {
  std::uint32_t row;
  std::uint32_t bag;
};
/// With what the bag's gradient is multiplied by: the id's weight, MEAN's 1 / n, or the rounded product of
/// both.
struct ScaledEntry {
  std::uint32_t row;
  std::uint32_t bag;
  float scale;
};

/// A step has two phases. Partition, on all threads: each chunk of samples is split stably by the low bits of
/// the row, into buckets of about 4,000 to 8,000 entries; low bits, because popular rows tend to be
/// neighbours. Sort, one call a bucket: the chunks' pieces are collected in order and radix-sorted, stably,
/// by the remaining bits. So the entries of a row stand in the order (sample, feature, position). Ids of -1
/// are left out.
class EntrySorter {
 public:
  /// Entries that may be read past the end of a sorted bucket, copies of its last: nothing need check before
  /// it looks ahead.
  static constexpr std::int64_t kPadding = 40;

  struct Bucket {
    std::int64_t table = 0;  ///< which of Partition's
    int row_shift = 0;       ///< row = entry.row << row_shift | low
    std::int64_t low = 0;
    int bag_shift = 0;
    bool scaled = false;  ///< entries are ScaledEntry

    std::int64_t Row(std::uint32_t key) const { return (static_cast<std::int64_t>(key) << row_shift) | low; }
  };

  /// Views `tables` until the last Sort of the step. Throws Error naming the table when it has more than 2^32
  /// bags or 2^42 rows. Allocates nothing once it has seen the largest batch.
  void Partition(std::span<const BagGradients> tables, ThreadPool& pool);

  /// Buckets of all tables, table by table.
  std::int64_t buckets() const { return buckets_; }
  Bucket bucket(std::int64_t index) const;

  /// A bucket's entries, sorted, in memory of the thread's that its next Sort reuses. E as `scaled` says.
  /// Thread-safe for different threads. Call Pad before reading past the end.
  template <typename E>
  std::span<E> Sort(std::int64_t index, int thread);

  /// No bucket of this step has more entries. Grows in large steps only: a size for scratch.
  std::int64_t max_entries() const { return scratch_bytes_ / static_cast<std::int64_t>(sizeof(Entry)); }

  template <typename E>
  static void Pad(std::span<E> sorted) {
    if (sorted.empty()) return;
    for (std::int64_t i = 0; i < kPadding; ++i)
      sorted.data()[static_cast<std::int64_t>(sorted.size()) + i] = sorted.back();
  }

 private:
  struct Plan {
    const BagGradients* input = nullptr;
    std::int64_t samples = 0;
    std::int64_t ids = 0;
    int row_shift = 0;
    int bag_shift = 0;
    int key_bits = 0;  // of entry.row
    bool scaled = false;
    std::int64_t first_byte = 0;  // of its entries
    std::int64_t first_chunk = 0;
    std::int64_t chunks = 0;
    std::int64_t first_bucket = 0;
    std::int64_t buckets = 0;
    std::int64_t first_offset = 0;  // of its [chunks, buckets + 1] offsets
  };

  void MakePlans(std::span<const BagGradients> tables);
  const Plan& PlanOfBucket(std::int64_t index) const;
  template <typename E>
  void PartitionChunk(const Plan& plan, std::int64_t chunk);
  template <typename E>
  const E* ChunkEntries(const Plan& plan, std::int64_t chunk) const;
  void SizeScratch(ThreadPool& pool);

  std::vector<Plan> plans_;
  std::int64_t chunks_ = 0;
  std::int64_t buckets_ = 0;
  Buffer<std::byte> entries_;               // chunk after chunk, in each bucket after bucket
  Buffer<std::int64_t> offsets_;            // where in a chunk each bucket starts
  std::vector<Buffer<std::byte>> scratch_;  // per thread: two arrays of the largest bucket's size
  std::int64_t scratch_bytes_ = 0;          // of one such array
};

}  // namespace hotrow
