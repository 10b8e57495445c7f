#pragma once
// Memory of the machine, as far as the process's cgroups let it be used.

#include <cstdint>
#include <string>

namespace hotrow {

struct Memory {
  std::int64_t total = 0;      ///< bytes of the machine, or of the smallest limit where that is smaller
  std::int64_t available = 0;  ///< bytes that can still be allocated without swapping
};

/// Reads /proc/meminfo, and the memory limits of the process's cgroup and of all groups around it up to the
/// root, in version 1 and 2. A group's page cache of files counts as available: the kernel gives it up before
/// it refuses memory. What cannot be read limits nothing. `root` stands before every path, for trees made
/// elsewhere.
Memory ReadMemory(const std::string& root = "");

}  // namespace hotrow
