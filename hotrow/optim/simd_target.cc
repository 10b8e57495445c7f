#include "hotrow/optim/simd_target.h"

#include <hwy/highway.h>

namespace hotrow {

std::string SimdTarget() {
  // Better targets have lower bits; dispatch takes the best that is both compiled in and supported.
  const auto targets = static_cast<std::uint64_t>(hwy::SupportedTargets() & HWY_TARGETS);
  return hwy::TargetName(static_cast<std::int64_t>(targets & (~targets + 1)));
}

}  // namespace hotrow
