#pragma once
// Runs a check once on every SIMD target that this machine supports, the scalar emulation included.

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

namespace hotrow::test {

template <typename Check>
void ForEachSimdTarget(Check&& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

}  // namespace hotrow::test
