#pragma once
// Initial values of dense parameters: a pure function of (seed, parameter name, element), the same on any
// number of threads or ranks.

#include <cstdint>

#include "hotrow/dense/parameters.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// U(-bound, +bound).
void InitUniform(Parameters& parameters, std::int64_t index, double bound, std::uint64_t seed,
                 ThreadPool& pool);

/// Normal with mean 0 and standard deviation `sigma`.
void InitNormal(Parameters& parameters, std::int64_t index, double sigma, std::uint64_t seed,
                ThreadPool& pool);

}  // namespace hotrow
