#pragma once
// Recat: what a rank receives is [source][feature][sample], each bag's ids together; a table's ids in one run
// are [feature][source][sample]. Blocks, all ids of one source and feature, change places; the ids of a block
// stay in order. With F features and W sources, row f * W + s of the result is row s * F + f of the arrival.
//
//   none  nothing is moved: the lookup reads the arrival as segments.
//   cpu   the general jagged permute. The payload goes through a host buffer: copied out, permuted there bag
//         by bag, copied back. Lengths and offsets of both orders are made anew in every call.
//   sc    a gather by index, in which every id is padded to a vector of 16 lanes of which lane 0 is kept.
//         Tile by tile, so that the padding is never there as a whole.
//   tc    a gather by index, one id wide.
// The index of sc and tc is kept as long as bags have fixed sizes and batches the same numbers of samples;
// else it is made in every call. All four give the same ids in the same places.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/dist/options.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// The shape of an arrival. A view.
struct RecatShape {
  std::int64_t sources = 0;
  std::int64_t features = 0;
  std::span<const std::int64_t> samples;      ///< [sources]
  std::span<const std::int32_t> fixed_sizes;  ///< [features] ids a bag; kJagged: see lengths
  std::span<const std::int64_t> counts;       ///< [sources, features] ids of each block
  /// [sources, features], each [samples] lengths of a block's bags; null where its feature's size is fixed.
  std::span<const std::int32_t* const> lengths;

  static constexpr std::int32_t kJagged = -1;
};

class Recat {
 public:
  explicit Recat(RecatMode mode) : mode_(mode) {}

  RecatMode mode() const { return mode_; }

  /// Moves elements of 4 or 8 bytes from `in`, where the blocks of source s begin at element starts[s], to
  /// `out`, where blocks follow one another. Not for kNone. Returns the bytes that it read and wrote. Fewer
  /// than 2^32 elements. Allocates nothing once it has seen the largest arrival.
  std::int64_t Run(const RecatShape& shape, std::span<const std::int64_t> starts, const std::byte* in,
                   int element_bytes, std::byte* out, ThreadPool& pool);

  /// Calls that had to make an index, or lengths and offsets.
  std::int64_t plans_made() const { return plans_made_; }

 private:
  template <typename T>
  std::int64_t RunCpu(const RecatShape& shape, const T* in, T* out, ThreadPool& pool);
  template <typename T>
  std::int64_t RunSc(const T* in, T* out, ThreadPool& pool);
  template <typename T>
  std::int64_t RunTc(const T* in, T* out, ThreadPool& pool);
  void MakeHostPlan(const RecatShape& shape, ThreadPool& pool);
  bool IndexFits(const RecatShape& shape, std::span<const std::int64_t> starts) const;
  void MakeIndex(const RecatShape& shape, std::span<const std::int64_t> starts, ThreadPool& pool);
  void FindBlocks(const RecatShape& shape, std::span<const std::int64_t> starts);

  RecatMode mode_;
  std::int64_t plans_made_ = 0;

  // Where blocks are, in the order of the arrival.
  std::vector<std::int64_t> block_in_;
  std::vector<std::int64_t> block_out_;
  std::int64_t elements_ = 0;

  // sc and tc: element i of the result is element index_[i] of the arrival; and what that was made for.
  bool reusable_ = false;
  std::vector<std::int64_t> index_samples_;
  std::vector<std::int64_t> index_starts_;
  std::vector<std::int32_t> index_sizes_;
  Buffer<std::uint32_t> index_;
  std::vector<Buffer<std::byte>> tiles_;  // sc, per thread: padded ids, and gathered ones

  // cpu: [sources, features, samples] before and [features, sources, samples] after.
  std::vector<std::int64_t> bags_before_;  // [sources * features + 1] first bag of each block
  std::vector<std::int64_t> bags_after_;   // of each block of the arrival
  Buffer<std::int32_t> lengths_before_;
  Buffer<std::int32_t> lengths_after_;
  Buffer<std::int64_t> offsets_before_;
  Buffer<std::int64_t> offsets_after_;
  Buffer<std::byte> host_before_;
  Buffer<std::byte> host_after_;
};

}  // namespace hotrow
