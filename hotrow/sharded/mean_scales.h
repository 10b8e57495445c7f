#pragma once
// MEAN's divisor where a bag's rows are on several ranks: counted where the whole bag is.

#include <cstdint>

#include "hotrow/machine/thread_pool.h"
#include "hotrow/sparse/keyed_jagged_tensor.h"

namespace hotrow {

/// scales[sample] = the fp32 1 / n of the sample's bag, n its ids that are not -1; 1 where n is 0.
void MeanScales(const FeatureBags& bags, float* scales, ThreadPool& pool);

}  // namespace hotrow
