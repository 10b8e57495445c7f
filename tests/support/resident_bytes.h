#pragma once
// What a test's process has in memory.

#include <cstdint>

#include "hotrow/machine/cgroups.h"

namespace hotrow {

/// Resident set of this process now, in bytes.
inline std::int64_t ResidentBytes() { return NumberBehind("/proc/self/status", "VmRSS:", 0) * 1024; }

}  // namespace hotrow
