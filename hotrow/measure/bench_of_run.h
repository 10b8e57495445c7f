#pragma once
// The benchmark that a run describes (run/run_config.h).

#include "hotrow/measure/bench_config.h"
#include "hotrow/run/run_config.h"
#include "hotrow/run/world.h"

namespace hotrow {

/// Not yet placed on ranks. Throws Error where settings do not fit.
BenchConfig ResolveBench(const RunConfig& run);

/// Completes it for a world that trains.
void PlaceOnWorld(const RunConfig& run, const World& world, BenchConfig& bench);

}  // namespace hotrow
