#include "hotrow/dist/bucketize.h"

#include <algorithm>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kIdsAChunk = 32768;
constexpr std::int64_t kNarrow = std::int64_t{1} << 32;

// Calls body(bucket of an id, its row there). A division of 32 bits takes a fraction of one of 64.
template <typename Body>
void WithBucket(std::int64_t id, std::int64_t block_size, Body&& body) {
  if (id < kNarrow && block_size < kNarrow) {
    const auto narrow = static_cast<std::uint32_t>(id);
    const auto block = static_cast<std::uint32_t>(block_size);
    body(narrow / block, narrow % block);
  } else {
    body(id / block_size, id % block_size);
  }
}

template <typename Id>
void ScatterChunk(const BucketizedFeature& feature, std::int64_t first_sample, std::int64_t end_sample,
                  std::int64_t* cursors) {
  const std::int64_t* ids = feature.bags.ids.data();
  const std::int64_t end = feature.bags.begin(end_sample);
  for (std::int64_t p = feature.bags.begin(first_sample); p < end; ++p) {
    if (ids[p] < 0) continue;
    WithBucket(ids[p], feature.block_size, [&](auto bucket, auto row) {
      const BucketPlace& place = feature.buckets[Index(bucket)];
      const std::int64_t at = cursors[bucket]++;
      reinterpret_cast<Id*>(place.ids)[at] = static_cast<Id>(row);
      if (!feature.bags.weights.empty()) place.weights[at] = feature.bags.weights.data()[p];
    });
  }
}

}  // namespace

void Bucketizer::Count(std::span<BucketizedFeature> features, ThreadPool& pool) {
  chunks_.clear();
  std::int64_t totals = 0;
  for (std::size_t f = 0; f < features.size(); ++f) {
    const FeatureBags& bags = features[f].bags;
    const std::int64_t count = std::min(bags.samples, CeilDiv(bags.num_ids() + bags.samples, kIdsAChunk));
    for (std::int64_t c = 0; c < count; ++c) {
      const Slice samples = EvenSlice(bags.samples, count, c);
      chunks_.push_back({static_cast<std::int64_t>(f), samples.begin, samples.end, totals});
      totals += static_cast<std::int64_t>(features[f].buckets.size());
    }
  }
  totals_.EnsureSize(totals);
  pool.Run(static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t task, int) {
    const Chunk& chunk = chunks_[Index(task)];
    const BucketizedFeature& feature = features[Index(chunk.feature)];
    std::int64_t* of_chunk = totals_.data() + chunk.first_total;
    for (std::size_t b = 0; b < feature.buckets.size(); ++b) {
      std::int32_t* lengths = feature.buckets[b].lengths;
      std::fill(lengths + chunk.first_sample, lengths + chunk.end_sample, 0);
      of_chunk[b] = 0;
    }
    for (std::int64_t sample = chunk.first_sample; sample < chunk.end_sample; ++sample) {
      const std::int64_t end = feature.bags.end(sample);
      for (std::int64_t p = feature.bags.begin(sample); p < end; ++p) {
        const std::int64_t id = feature.bags.ids.data()[p];
        if (id < 0) continue;
        WithBucket(id, feature.block_size, [&](auto bucket, auto) {
          ++feature.buckets[Index(bucket)].lengths[sample];
          ++of_chunk[bucket];
        });
      }
    }
  });
  for (BucketizedFeature& feature : features) {
    for (BucketPlace& place : feature.buckets) place.count = 0;
  }
  for (const Chunk& chunk : chunks_) {
    std::vector<BucketPlace>& buckets = features[Index(chunk.feature)].buckets;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      std::int64_t& total = totals_[chunk.first_total + static_cast<std::int64_t>(b)];
      const std::int64_t count = total;
      total = buckets[b].count;
      buckets[b].count += count;
    }
  }
}

void Bucketizer::Scatter(std::span<const BucketizedFeature> features, int id_bytes, ThreadPool& pool) {
  pool.Run(static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t task, int) {
    const Chunk& chunk = chunks_[Index(task)];
    const BucketizedFeature& feature = features[Index(chunk.feature)];
    std::int64_t* cursors = totals_.data() + chunk.first_total;
    if (id_bytes == 4) {
      ScatterChunk<std::int32_t>(feature, chunk.first_sample, chunk.end_sample, cursors);
    } else {
      ScatterChunk<std::int64_t>(feature, chunk.first_sample, chunk.end_sample, cursors);
    }
  });
}

}  // namespace hotrow
