#include "hotrow/measure/recat_benchmark.h"

#include <cstddef>
#include <cstring>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/dist/recat.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/system.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

// Every block of the arrival is where it belongs.
void CheckMoved(const RecatShape& shape, const std::byte* in, const std::byte* out, int id_bytes) {
  std::vector<std::int64_t> first(1, 0);  // byte of each block of the arrival
  for (const std::int64_t count : shape.counts) first.push_back(first.back() + count * id_bytes);
  for (std::int64_t f = 0; f < shape.features; ++f) {
    for (std::int64_t s = 0; s < shape.sources; ++s) {
      const auto block = static_cast<std::size_t>(s * shape.features + f);
      const std::int64_t bytes = first[block + 1] - first[block];
      HOTROW_CHECK(std::memcmp(out, in + first[block], static_cast<std::size_t>(bytes)) == 0);
      out += bytes;
    }
  }
}

// A payload, its result, and an engine's index or staging buffers beside them.
void CheckFits(std::int64_t ids, int id_bytes) {
  if (ids >= std::int64_t{1} << 32) Fail("recat: {} ids, valid: fewer than {}", ids, std::int64_t{1} << 32);
  const std::int64_t needed = 4 * ids * id_bytes;
  const std::int64_t available = AvailableMemory();
  if (needed > available) {
    Fail("recat: {} ids need about {:.1f} GiB, {:.1f} GiB are available", ids, GiB(needed), GiB(available));
  }
}

double TimeCopy(const Buffer<std::byte>& in, Buffer<std::byte>& out, std::int64_t bytes, ThreadPool& pool) {
  const double begin = NowSeconds();
  pool.Run(pool.size(), [&](std::int64_t slice, int) {
    const Slice part = EvenSlice(bytes, pool.size(), slice);
    std::memcpy(out.data() + part.begin, in.data() + part.begin, static_cast<std::size_t>(part.size()));
  });
  return NowSeconds() - begin;
}

}  // namespace

RecatResult RunRecat(const BenchConfig& config, std::int64_t sources, ThreadPool& pool) {
  const std::vector<std::int32_t>& sizes = config.data.bag_sizes;
  const RecatMode mode = config.trainer.dist.recat;
  const std::vector<std::int64_t> samples(static_cast<std::size_t>(sources), config.per_chip_batch);
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> starts;
  RecatResult result;
  result.run = BenchRun{"recat", config, sources, pool.size(), "threads"};
  result.id_bytes = WireIdBytes(config);
  for (std::int64_t s = 0; s < sources; ++s) {
    starts.push_back(result.ids);
    for (const std::int32_t size : sizes) {
      counts.push_back(size * config.per_chip_batch);
      result.ids += counts.back();
    }
  }
  CheckFits(result.ids, result.id_bytes);
  const std::vector<const std::int32_t*> lengths(counts.size(), nullptr);
  const RecatShape shape{sources, std::ssize(sizes), samples, sizes, counts, lengths};

  Buffer<std::byte> in(result.payload_bytes());
  Buffer<std::byte> out(result.payload_bytes());
  for (std::int64_t i = 0; i < result.ids; ++i) {
    std::memcpy(in.data() + i * result.id_bytes, &i, static_cast<std::size_t>(result.id_bytes));
  }
  Recat recat(mode);
  const bool moves = mode != RecatMode::kNone;
  for (std::int64_t step = 0; step < config.warmup + config.steps; ++step) {
    const double copy = TimeCopy(in, out, result.payload_bytes(), pool);
    const double begin = NowSeconds();
    if (moves) result.bytes_moved = recat.Run(shape, starts, in.data(), result.id_bytes, out.data(), pool);
    const double seconds = NowSeconds() - begin;
    if (step < config.warmup) continue;
    result.copy_seconds.push_back(copy);
    if (moves) result.seconds.push_back(seconds);
  }
  if (moves) CheckMoved(shape, in.data(), out.data(), result.id_bytes);
  result.peak_rss_bytes = PeakResidentBytes();
  return result;
}

}  // namespace hotrow
