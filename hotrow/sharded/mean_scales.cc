#include "hotrow/sharded/mean_scales.h"

#include <algorithm>

#include "hotrow/base/size.h"

namespace hotrow {

void MeanScales(const FeatureBags& bags, float* scales, ThreadPool& pool) {
  constexpr std::int64_t kSamplesATask = 4096;
  pool.Run(CeilDiv(bags.samples, kSamplesATask), [&](std::int64_t task, int) {
    const std::int64_t end = std::min(bags.samples, (task + 1) * kSamplesATask);
    for (std::int64_t sample = task * kSamplesATask; sample < end; ++sample) {
      std::int64_t valid = 0;
      for (std::int64_t p = bags.begin(sample); p < bags.end(sample); ++p) valid += bags.ids.data()[p] >= 0;
      scales[sample] = valid > 1 ? 1.0F / static_cast<float>(valid) : 1.0F;
    }
  });
}

}  // namespace hotrow
