#pragma once
// What arrives in an input dist: blocks of ids, one for each source and feature, and the bags in them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/dist/input_routes.h"
#include "hotrow/dist/recat.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// What brings ids and weights into [feature][source][sample]. All batches of an input dist share them, so
/// that what they keep for fixed sizes is made once.
struct RecatEngines {
  explicit RecatEngines(RecatMode mode) : ids(mode), weights(mode) {}
  Recat ids;
  Recat weights;
};

class InputArrival {
 public:
  /// `routes` must outlive it.
  explicit InputArrival(const InputRoutes& routes) : routes_(routes) {}

  // Of a batch, in this order. Allocates nothing once it has seen the largest batch.

  /// samples[r]: of rank r's batch. bag_sizes as for InputSend::Fill. weighted: whether ids have weights, for
  /// a batch without lengths, which would say it.
  void Expect(std::span<const std::int64_t> samples, std::span<const std::int32_t> bag_sizes, bool weighted);
  /// Room for the lengths of rank `source`, where lengths travel.
  std::span<std::int32_t> lengths(std::size_t source);
  /// Counts what is to come, with the lengths here if has_lengths, and makes room for it.
  void MakeRoom(bool has_lengths, ThreadPool& pool);
  /// Room for the ids and weights of rank `source`.
  std::span<std::byte> payload(std::size_t source);
  /// With the payload here: bags are views of it.
  void MakeBags(ThreadPool& pool);
  /// Moves ids and weights; bags are then views of the result. Nothing for RecatMode::kNone. Returns the
  /// bytes that it read and wrote.
  std::int64_t RunRecat(RecatEngines& engines, ThreadPool& pool);

  /// Every rank's number of samples, in rank order.
  std::span<const std::int64_t> samples() const { return samples_; }
  /// Bags of the rank's received feature `index` that rank `source` has sent.
  const FeatureBags& bags(std::int64_t index, int source) const;

 private:
  std::size_t ranks() const { return routes_.ranks(); }
  std::size_t features() const { return routes_.received().size(); }
  std::int64_t PayloadBytes(std::size_t source) const;
  void CountBlocks(bool has_lengths, ThreadPool& pool);
  void MakeOffsets(ThreadPool& pool);
  void ViewBlock(std::size_t block, const std::byte* ids, const float* weights);

  const InputRoutes& routes_;
  std::vector<std::int64_t> samples_;
  std::vector<std::int32_t> bag_sizes_;  // of each received feature
  bool weighted_ = false;

  Buffer<std::int32_t> lengths_;
  std::vector<std::int64_t> first_length_;  // of each source, and the end

  // Blocks are [source][feature].
  std::vector<const std::int32_t*> lengths_of_;  // of each block; null where the size is fixed
  std::vector<std::int64_t> counts_;             // ids of each block
  std::vector<std::int64_t> source_counts_;
  std::vector<bool> source_weighted_;
  Buffer<std::byte> payload_;
  std::vector<std::int64_t> first_byte_;    // of each source
  Buffer<std::int64_t> offsets_;            // of each jagged block, [samples + 1]
  std::vector<std::int64_t> first_offset_;  // of each block
  std::vector<std::int64_t> starts_;        // the recat's
  Buffer<std::byte> recat_ids_;
  Buffer<float> recat_weights_;
  std::vector<FeatureBags> bags_;  // of each block
};

}  // namespace hotrow
