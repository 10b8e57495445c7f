#pragma once
// Runs a check once on every SIMD target that this machine supports, the scalar emulation included. Under
// ThreadSanitizer on the best one only: which instructions add up a row is nothing to the threads.

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

namespace hotrow::test {

template <typename Check>
void ForEachSimdTarget(Check&& check) {
#ifdef __SANITIZE_THREAD__
  check();
#else
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
#endif
}

}  // namespace hotrow::test
