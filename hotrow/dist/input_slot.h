#pragma once
// The state of an InputDist: internal to it.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hotrow/dist/bucketize.h"
#include "hotrow/dist/input_dist.h"
#include "hotrow/dist/recat.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/plan/plan_queries.h"

namespace hotrow {

// A part of a feature's ids and weights, to be copied into a pack.
struct PackCopy {
  const std::int64_t* ids = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 0;
  std::byte* to = nullptr;
  float* weights_to = nullptr;
};

// Where a feature's ids go.
struct InputDist::Route {
  bool split = false;
  RowSplit rows;             // split: rank first_ranks[g] + bucket for each group g
  std::int64_t buckets = 0;  // split: that have rows
};

// What leaves for one rank, or for several that receive the same.
struct InputDist::Pack {
  std::size_t rank = 0;                   // one of them: whose features these are
  Buffer<std::int32_t> lengths;           // [1 + jagged features * samples]
  std::vector<std::int32_t*> lengths_of;  // [features], null where the size is fixed
  std::vector<std::int64_t> counts;       // [features] ids
  Buffer<std::byte> payload;              // ids, then weights
  std::vector<std::int64_t> first_id;     // [features + 1]
};

// Where one bucket of one feature goes.
struct InputDist::SplitPlace {
  std::size_t split = 0;  // which of the features that are split
  std::size_t bucket = 0;
  bool repeat = false;  // not the first group of ranks to receive it
  Pack* pack = nullptr;
  std::size_t place = 0;  // of the feature in the pack
};

struct InputDist::Slot {
  std::vector<std::int64_t> samples;  // of every rank
  std::vector<std::int32_t> sizes;    // of every feature; kJagged where lengths travel
  bool weighted = false;              // this rank's batch
  bool has_lengths = false;
  bool lengths_pending = false;
  std::vector<Pack> packs;
  std::vector<BucketizedFeature> bucketized;
  std::vector<SplitPlace> split_places;
  std::vector<PackCopy> copies;
  Bucketizer bucketizer;

  // What has arrived, by source. Blocks are [source][feature].
  Buffer<std::int32_t> arrived_lengths;
  std::vector<std::int64_t> first_length;       // of each source
  std::vector<const std::int32_t*> lengths_of;  // of each block; null where the size is fixed
  std::vector<std::int32_t> received_sizes;     // of each received feature
  std::vector<std::int64_t> counts;             // of each block
  std::vector<std::int64_t> source_counts;
  std::vector<bool> source_weighted;
  Buffer<std::byte> arrived;
  std::vector<std::int64_t> first_byte;    // of each source
  Buffer<std::int64_t> offsets;            // of each jagged block, [samples + 1]
  std::vector<std::int64_t> first_offset;  // of each block
  std::vector<std::int64_t> starts;        // Recat's
  Buffer<std::byte> recat_ids;
  Buffer<float> recat_weights;
  std::vector<FeatureBags> bags;  // of each block

  // Last: they end first.
  Request lengths_request;
  Request payload_request;
};

// What both slots use.
struct InputDist::Engines {
  hotrow::Recat ids;
  hotrow::Recat weights;
};

}  // namespace hotrow
