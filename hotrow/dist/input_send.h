#pragma once
// What leaves in an input dist: for each rank the lengths, ids and weights of the features it receives.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/dist/bucketize.h"
#include "hotrow/dist/input_routes.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

class InputSend {
 public:
  /// `routes` must outlive it.
  explicit InputSend(const InputRoutes& routes);

  /// Fills what leaves for every rank from this rank's batch. bag_sizes: of every feature, the fixed number
  /// of ids in a bag; RecatShape::kJagged where lengths travel. Allocates nothing once it has seen the
  /// largest batch.
  void Fill(const KeyedJaggedTensor& batch, std::span<const std::int32_t> bag_sizes, ThreadPool& pool);

  /// [1 + jagged features * samples] for `rank`: whether ids have weights, then lengths. Until the next Fill.
  std::span<const std::int32_t> lengths(std::size_t rank) const;
  /// All ids for `rank`, feature after feature, then as many fp32 weights where there are any.
  std::span<const std::byte> payload(std::size_t rank) const;

 private:
  // For one rank, or for several that receive the same.
  struct Pack {
    Buffer<std::int32_t> lengths;
    std::vector<std::int32_t*> lengths_of;  // [features], null where the size is fixed
    std::vector<std::int64_t> counts;       // [features] ids
    Buffer<std::byte> payload;
    std::vector<std::int64_t> first_id;  // [features + 1]
  };
  // A part of a feature's ids and weights, to be copied into a pack.
  struct Copy {
    const std::int64_t* ids = nullptr;
    const float* weights = nullptr;
    std::int64_t count = 0;
    std::byte* to = nullptr;
    float* weights_to = nullptr;
  };

  const std::vector<std::int64_t>& FeaturesOf(std::size_t pack) const;
  void PlaceLengths(const KeyedJaggedTensor& batch, std::span<const std::int32_t> bag_sizes);
  void BucketizeLengths(const KeyedJaggedTensor& batch, ThreadPool& pool);
  void SizePayloads();
  std::byte* IdsAt(Pack& pack, std::size_t place) const;
  float* WeightsAt(Pack& pack, std::size_t place) const;
  void CopyWholeFeatures(const KeyedJaggedTensor& batch, ThreadPool& pool);
  void CopyPart(const Copy& copy) const;
  void ScatterSplitFeatures(ThreadPool& pool);

  const InputRoutes& routes_;
  bool weighted_ = false;
  std::vector<Pack> packs_;
  std::vector<BucketizedFeature> bucketized_;
  std::vector<Copy> copies_;
  Bucketizer bucketizer_;
};

}  // namespace hotrow
