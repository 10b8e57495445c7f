#include "hotrow/embed/entry_sorter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kIdsAChunk = 32768;  // ids and entries of a chunk stay in a core's cache
// A bucket's ids, at most, on average: so many that its start, when nothing has fetched its first rows yet,
// costs little, and few enough to stay in a core's cache. Fewer where threads would have less than
// kBucketsAThread to share out: the pool's threads, or so many that most machines have fewer.
constexpr std::int64_t kIdsABucket = 16384;
constexpr std::int64_t kFewestIdsABucket = 2048;
constexpr std::int64_t kBucketsAThread = 16;
constexpr std::int64_t kThreadsSupposed = 8;
constexpr int kMaxRowShift = 10;  // more buckets than that are more write streams than a core follows
constexpr int kMaxDigitBits = 11;

int BitWidth(std::int64_t value) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

// Ids of a segment's samples before `sample`, all features together.
std::int64_t IdsBefore(std::span<const FeatureGradient> segment, std::int64_t sample) {
  std::int64_t ids = 0;
  for (const FeatureGradient& feature : segment) ids += feature.bags.begin(sample);
  return ids;
}

// Calls visit(first id of the bags), of 4 or 8 bytes each.
template <typename Visit>
void VisitIds(const FeatureBags& bags, Visit&& visit) {
  bags.narrow_ids.empty() ? visit(bags.ids.data()) : visit(bags.narrow_ids.data());
}

template <typename E>
E MakeEntry(std::int64_t row, std::int64_t bag, float scale) {
  if constexpr (std::is_same_v<E, ScaledEntry>) {
    return {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(bag), scale};
  } else {
    return {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(bag)};
  }
}

// MEAN's 1 / n of a bag.
template <typename Id>
float MeanScale(const Id* begin, const Id* end) {
  const auto valid = std::count_if(begin, end, [](Id id) { return id >= 0; });
  return 1.0F / static_cast<float>(valid);
}

}  // namespace

void EntrySorter::MakePlan(const BagGradients& input, int sample_bits, std::int64_t ids_a_bucket) {
  Plan plan;
  plan.input = &input;
  plan.scaled = input.table->config().pooling == PoolingType::kMean;
  plan.first_chunk = static_cast<std::int64_t>(chunks_.size());
  for (std::int64_t s = 0; s < input.segments; ++s) {
    const std::span<const FeatureGradient> segment = input.segment(s);
    const std::int64_t samples = input.samples(s);
    std::int64_t ids = 0;
    for (const FeatureGradient& feature : segment) {
      HOTROW_CHECK(feature.bags.samples == samples);
      ids += feature.bags.num_ids();
      plan.scaled = plan.scaled || !feature.bags.weights.empty();
    }
    const std::int64_t count = std::min(samples, CeilDiv(ids, kIdsAChunk));
    for (std::int64_t c = 0; c < count; ++c) {
      const Slice slice = EvenSlice(samples, count, c);
      chunks_.push_back(
          {static_cast<std::int64_t>(plans_.size()), s, slice, plan.ids + IdsBefore(segment, slice.begin)});
    }
    plan.ids += ids;
  }
  const int row_bits = BitWidth(input.table->rows() - 1);
  plan.row_shift =
      std::min({BitWidth(plan.ids / ids_a_bucket), std::max(0, row_bits - RowBits::kTogether), kMaxRowShift});
  plan.row_shift = std::max(plan.row_shift, row_bits - 32);
  plan.key_bits = row_bits - plan.row_shift;
  plan.code = {BitWidth(std::max<std::int64_t>(input.num_features(), 1) - 1), sample_bits};
  if (plan.row_shift > kMaxRowShift) {
    Fail("table '{}': {} rows, must be at most 2^42", input.table->name(), input.table->rows());
  }
  if (BitWidth(input.segments - 1) + sample_bits + plan.code.feature_bits > 32) {
    Fail("table '{}': batches of {} ranks, up to 2^{} samples each of {} features, must be at most 2^32 bags",
         input.table->name(), input.segments, sample_bits, input.num_features());
  }
  plan.chunks = static_cast<std::int64_t>(chunks_.size()) - plan.first_chunk;
  plan.buckets = plan.ids == 0 ? 0 : std::int64_t{1} << plan.row_shift;
  plans_.push_back(plan);
}

void EntrySorter::MakePlans(std::span<const BagGradients> tables, std::int64_t fewest_buckets) {
  plans_.clear();
  chunks_.clear();
  buckets_ = 0;
  std::int64_t bytes = 0;
  std::int64_t offsets = 0;
  const int sample_bits = SampleBits(tables);
  std::int64_t ids = 0;
  for (const BagGradients& input : tables) {
    for (const FeatureGradient& feature : input.features) ids += feature.bags.num_ids();
  }
  const std::int64_t ids_a_bucket = std::clamp(ids / fewest_buckets, kFewestIdsABucket, kIdsABucket);
  for (const BagGradients& input : tables) {
    MakePlan(input, sample_bits, ids_a_bucket);
    Plan& plan = plans_.back();
    plan.first_byte = bytes;
    plan.first_bucket = buckets_;
    plan.first_offset = offsets;
    const auto entry = static_cast<std::int64_t>(plan.scaled ? sizeof(ScaledEntry) : sizeof(Entry));
    bytes = RoundUp(bytes + CheckedMul(plan.ids, entry), 64);
    offsets += plan.chunks * (plan.buckets + 1);
    buckets_ += plan.buckets;
  }
  entries_.EnsureSize(bytes);
  offsets_.EnsureSize(offsets);
}

template <typename E>
E* EntrySorter::ChunkEntries(const Plan& plan, std::int64_t chunk) {
  return reinterpret_cast<E*>(entries_.data() + plan.first_byte) + chunks_[Index(chunk)].first_entry;
}

template <typename E>
void EntrySorter::PartitionChunk(std::int64_t index) {
  const Chunk& chunk = chunks_[Index(index)];
  const Plan& plan = plans_[Index(chunk.plan)];
  const std::span<const FeatureGradient> features = plan.input->segment(chunk.segment);
  const int shift = plan.row_shift;
  std::int64_t* offsets = ChunkOffsets(plan, index);
  std::fill_n(offsets, plan.buckets + 1, 0);
  for (const FeatureGradient& feature : features) {
    VisitIds(feature.bags, [&](const auto* ids) {
      const std::int64_t end = feature.bags.begin(chunk.samples.end);
      for (std::int64_t p = feature.bags.begin(chunk.samples.begin); p < end; ++p) {
        if (ids[p] >= 0) ++offsets[RowBits::BucketOf(ids[p], shift) + 1];
      }
    });
  }
  std::array<E*, std::size_t{1} << kMaxRowShift> cursors;
  E* const entries = ChunkEntries<E>(plan, index);
  for (std::int64_t b = 0; b < plan.buckets; ++b) {
    cursors[Index(b)] = entries + offsets[b];
    offsets[b + 1] += offsets[b];
  }

  const bool mean = plan.input->table->config().pooling == PoolingType::kMean;
  const std::int64_t first_of_segment = chunk.segment << plan.code.sample_bits;
  for (std::int64_t sample = chunk.samples.begin; sample < chunk.samples.end; ++sample) {
    std::int64_t bag = (first_of_segment | sample) << plan.code.feature_bits;
    for (const FeatureGradient& feature : features) {
      const FeatureBags& bags = feature.bags;
      const std::int64_t begin = bags.begin(sample);
      const std::int64_t end = bags.end(sample);
      VisitIds(bags, [&](const auto* ids) {
        float bag_scale = 1.0F;
        if constexpr (std::is_same_v<E, ScaledEntry>) {
          if (mean) bag_scale = MeanScale(ids + begin, ids + end);
        }
        for (std::int64_t p = begin; p < end; ++p) {
          const std::int64_t id = ids[p];
          if (id < 0) continue;
          const float scale = bags.weights.empty() ? bag_scale : bags.weights.data()[p] * bag_scale;
          *cursors[Index(RowBits::BucketOf(id, shift))]++ =
              MakeEntry<E>(RowBits::KeyOf(id, shift), bag, scale);
        }
      });
      ++bag;
    }
  }
}

void EntrySorter::SizeScratch(ThreadPool& pool) {
  std::int64_t largest = 0;
  for (const Plan& plan : plans_) {
    const auto entry = static_cast<std::int64_t>(plan.scaled ? sizeof(ScaledEntry) : sizeof(Entry));
    for (std::int64_t b = 0; b < plan.buckets; ++b) {
      std::int64_t size = kPadding;
      for (std::int64_t c = 0; c < plan.chunks; ++c) {
        const std::int64_t* of_chunk = ChunkOffsets(plan, plan.first_chunk + c);
        size += of_chunk[b + 1] - of_chunk[b];
      }
      largest = std::max(largest, size * entry);
    }
  }
  // Rounded well up: the next batch's largest bucket is a little larger or smaller, and must not allocate.
  scratch_bytes_ = std::max(
      scratch_bytes_, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * largest))));
  if (scratch_.size() < Index(pool.size())) scratch_.resize(Index(pool.size()));
  for (Buffer<std::byte>& scratch : scratch_) scratch.EnsureSize(2 * scratch_bytes_);
}

void EntrySorter::Partition(std::span<const BagGradients> tables, BucketsFollow follow, ThreadPool& pool) {
  MakePlans(tables, kBucketsAThread * (follow == BucketsFollow::kIds ? kThreadsSupposed : pool.size()));
  pool.Run(static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t task, int) {
    const auto plan = Index(chunks_[Index(task)].plan);
    plans_[plan].scaled ? PartitionChunk<ScaledEntry>(task) : PartitionChunk<Entry>(task);
  });
  SizeScratch(pool);
}

const EntrySorter::Plan& EntrySorter::PlanOfBucket(std::int64_t index) const {
  const auto next =
      std::upper_bound(plans_.begin(), plans_.end(), index,
                       [](std::int64_t bucket, const Plan& plan) { return bucket < plan.first_bucket; });
  return *(next - 1);
}

EntrySorter::Bucket EntrySorter::bucket(std::int64_t index) const {
  const Plan& plan = PlanOfBucket(index);
  return {&plan - plans_.data(), {plan.row_shift, index - plan.first_bucket}, plan.code, plan.scaled};
}

template <typename E>
std::span<E> EntrySorter::Sort(std::int64_t index, int thread) {
  const Plan& plan = PlanOfBucket(index);
  const std::int64_t bucket = index - plan.first_bucket;
  std::byte* const scratch = scratch_[Index(thread)].data();
  E* from = reinterpret_cast<E*>(scratch);
  E* to = reinterpret_cast<E*>(scratch + scratch_bytes_);

  const auto for_each_piece = [&](auto&& visit) {
    for (std::int64_t c = plan.first_chunk; c < plan.first_chunk + plan.chunks; ++c) {
      const std::int64_t* offsets = ChunkOffsets(plan, c);
      const E* entries = ChunkEntries<E>(plan, c);
      visit(entries + offsets[bucket], entries + offsets[bucket + 1]);
    }
  };

  const int passes = std::max(1, static_cast<int>(CeilDiv(plan.key_bits, kMaxDigitBits)));
  const int digit_bits = static_cast<int>(CeilDiv(plan.key_bits, passes));
  const std::uint32_t digit_mask = (std::uint32_t{1} << digit_bits) - 1;
  std::array<std::array<std::uint32_t, (std::size_t{1} << kMaxDigitBits)>, 3>
      starts;  // 33 key bits would be too many
  for (int pass = 0; pass < passes; ++pass) {
    std::fill_n(starts[Index(pass)].begin(), std::size_t{1} << digit_bits, 0U);
  }
  std::int64_t size = 0;
  for_each_piece([&](const E* begin, const E* end) {
    size += end - begin;
    for (const E* e = begin; e != end; ++e) {
      for (int pass = 0; pass < passes; ++pass) {
        ++starts[Index(pass)][(e->row >> (pass * digit_bits)) & digit_mask];
      }
    }
  });
  for (int pass = 0; pass < passes; ++pass) {
    std::uint32_t sum = 0;
    for (std::uint32_t digit = 0; digit <= digit_mask; ++digit) {
      sum += std::exchange(starts[Index(pass)][digit], sum);
    }
  }
  const auto scatter = [&](const E* begin, const E* end, int pass) {
    auto& start = starts[Index(pass)];
    for (const E* e = begin; e != end; ++e) to[start[(e->row >> (pass * digit_bits)) & digit_mask]++] = *e;
  };
  for_each_piece([&](const E* begin, const E* end) { scatter(begin, end, 0); });
  for (int pass = 1; pass < passes; ++pass) {
    std::swap(from, to);
    scatter(from, from + size, pass);
  }
  return {to, Index(size)};
}

template std::span<Entry> EntrySorter::Sort<Entry>(std::int64_t index, int thread);
template std::span<ScaledEntry> EntrySorter::Sort<ScaledEntry>(std::int64_t index, int thread);

}  // namespace hotrow
