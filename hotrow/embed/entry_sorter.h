#pragma once
// Brings a batch's (row, bag) pairs together by row, so that each touched row is summed and updated once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/embed/bag_gradients.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// One id of a batch. `row` is a key: it lacks the bits that its bucket stands for (RowBits); `bag` is a
/// BagCode.
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

/// How a row splits into its bucket and its key: the bucket is `shift` bits of the row above its lowest
/// three. Eight neighbours stay together, since updates that walk a few kilobytes at a time are a fifth
/// faster than single rows; popular rows, which tend to be neighbours too, still spread over the buckets.
struct RowBits {
  static constexpr int kTogether = 3;

  int shift = 0;
  std::int64_t bucket = 0;

  static std::int64_t BucketOf(std::int64_t row, int shift) {
    return (row >> kTogether) & ((std::int64_t{1} << shift) - 1);
  }
  /// Ascends with the row within a bucket.
  static std::int64_t KeyOf(std::int64_t row, int shift) {
    return (row >> (shift + kTogether) << kTogether) | (row & kLow);
  }
  std::int64_t Row(std::uint32_t key) const {
    const auto wide = static_cast<std::int64_t>(key);
    return (wide >> kTogether << (shift + kTogether)) | (bucket << kTogether) | (wide & kLow);
  }

 private:
  static constexpr std::int64_t kLow = (std::int64_t{1} << kTogether) - 1;
};

/// What the number of buckets follows. Threads may be idle at the end where buckets are few; ids alone, where
/// others must come to the same buckets whatever their threads.
enum class BucketsFollow { kIdsAndThreads, kIds };

/// A step has two phases. Partition, on all threads: each chunk of samples is split stably by bits of
/// the row, into buckets of 8,000 to 16,000 entries, fewer where there are too few of them. Sort, one call a
/// bucket: the chunks' pieces are collected in order and radix-sorted, stably, by the remaining bits. So the
/// entries of a row stand in the order (segment, sample, feature, position). Ids of -1 are left out.
class EntrySorter {
 public:
  /// Entries that may be read past the end of a sorted bucket, copies of its last: nothing need check before
  /// it looks ahead.
  static constexpr std::int64_t kPadding = 64;

  struct Bucket {
    std::int64_t table = 0;  ///< which of Partition's
    RowBits bits;
    BagCode code;
    bool scaled = false;  ///< entries are ScaledEntry

    std::int64_t Row(std::uint32_t key) const { return bits.Row(key); }
  };

  /// Views `tables` until the last Sort of the step. Throws Error naming the table when it has more than 2^32
  /// bags or 2^42 rows. Allocates nothing once it has seen the largest batch.
  void Partition(std::span<const BagGradients> tables, BucketsFollow follow, ThreadPool& pool);

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
    std::int64_t ids = 0;
    int row_shift = 0;
    BagCode code;
    int key_bits = 0;  // of entry.row
    bool scaled = false;
    std::int64_t first_byte = 0;  // of its entries
    std::int64_t first_chunk = 0;
    std::int64_t chunks = 0;
    std::int64_t first_bucket = 0;
    std::int64_t buckets = 0;
    std::int64_t first_offset = 0;  // of its [chunks, buckets + 1] offsets
  };
  struct Chunk {
    std::int64_t plan = 0;
    std::int64_t segment = 0;
    Slice samples;
    std::int64_t first_entry = 0;  // among the plan's
  };

  void MakePlans(std::span<const BagGradients> tables, std::int64_t fewest_buckets);
  void MakePlan(const BagGradients& input, int sample_bits, std::int64_t ids_a_bucket);
  const Plan& PlanOfBucket(std::int64_t index) const;
  template <typename E>
  void PartitionChunk(std::int64_t index);
  template <typename E>
  E* ChunkEntries(const Plan& plan, std::int64_t chunk);
  std::int64_t* ChunkOffsets(const Plan& plan, std::int64_t chunk) {
    return offsets_.data() + plan.first_offset + (chunk - plan.first_chunk) * (plan.buckets + 1);
  }
  void SizeScratch(ThreadPool& pool);

  std::vector<Plan> plans_;
  std::vector<Chunk> chunks_;
  std::int64_t buckets_ = 0;
  Buffer<std::byte> entries_;               // chunk after chunk, in each bucket after bucket
  Buffer<std::int64_t> offsets_;            // where in a chunk each bucket starts
  std::vector<Buffer<std::byte>> scratch_;  // per thread: two arrays of the largest bucket's size
  std::int64_t scratch_bytes_ = 0;          // of one such array
};

}  // namespace hotrow
