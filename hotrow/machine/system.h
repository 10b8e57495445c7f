#pragma once
// What this machine and process have: memory, the CPU's name.

#include <cstdint>
#include <string>
#include <string_view>

#include "hotrow/base/size.h"

namespace hotrow {

/// Bytes a process can still allocate without swapping: the smallest of the kernel's MemAvailable, what the
/// process's cgroups leave (machine/memory.h), and what its limit of address space does.
std::int64_t AvailableMemory();
/// The same for what has its address space already: reserved, and not yet of any memory.
std::int64_t AvailableForReserved();

/// What grows as it is used leaves so much memory free: growth past it is an error rather than a visit from
/// the kernel's OOM killer.
inline constexpr std::int64_t kMemoryReserve = 512 * kMiB;

/// Throws Error naming `what`, the bytes it needs and those available, when there are fewer. Below 64 MiB
/// nothing is asked: reading the limits costs more.
void NeedMemory(std::int64_t bytes, std::string_view what);

/// Bytes of memory of the machine, or of the smallest limit of a cgroup where that is smaller.
std::int64_t TotalMemory();

/// Largest resident set of this process so far, in bytes.
std::int64_t PeakResidentBytes();

/// The CPU's name as the kernel gives it, "unknown CPU" where it gives none.
std::string CpuName();

}  // namespace hotrow
