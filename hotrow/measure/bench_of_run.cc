#include "hotrow/measure/bench_of_run.h"

#include <algorithm>

#include "hotrow/data/presets.h"
#include "hotrow/run/resolve.h"
#include "hotrow/run/run_data.h"

namespace hotrow {
namespace {

// A cap that is 0 caps nothing.
bool Caps(const DataConfig& data) {
  const auto more = [&](std::int64_t rows) { return rows > data.max_rows; };
  return data.max_rows > 0 && std::ranges::any_of(ParseRows(data.cardinality), more);
}

}  // namespace

BenchConfig ResolveBench(const RunConfig& run) {
  const SyntheticConfig data = ResolveSynthetic(run);
  return {.trainer = ResolveTrainer(run, SyntheticSource(data).description()),
          .data = data,
          .per_chip_batch = run.bench.per_chip_batch,
          .ranks_per_chip = run.bench.ranks_per_chip,
          .steps = run.bench.steps,
          .warmup = run.bench.warmup,
          .pipeline = run.loop.pipeline,
          .limits = run.bench.limits,
          .hash = run.bench.hash,
          .cardinality = run.data.cardinality,
          .sharding = run.placement.sharding,
          .max_rows = run.data.max_rows,
          .capped = Caps(run.data)};
}

void PlaceOnWorld(const RunConfig& run, const World& world, BenchConfig& bench) {
  PlaceOnWorld(run, SyntheticSource(bench.data).description(), world, bench.trainer);
}

}  // namespace hotrow
