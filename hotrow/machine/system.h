#pragma once
// What this machine and process have: memory, the CPU's name.

#include <cstdint>
#include <string>
#include <string_view>

namespace hotrow {

/// Bytes a process can still allocate without swapping: the smallest of the kernel's MemAvailable, what the
/// process's cgroups leave (machine/memory.h), and what its limit of address space does.
std::int64_t AvailableMemory();
/// The same for what has its address space already: reserved, and not yet of any memory.
std::int64_t AvailableForReserved();

/// Throws Error naming `what`, the bytes it needs and those available, when there are fewer. Below 64 MiB
/// nothing is asked: reading the limits costs more.
void NeedMemory(std::int64_t bytes, std::string_view what);

/// Bytes of memory of the machine, or of the smallest limit of a cgroup where that is smaller.
std::int64_t TotalMemory();

/// Largest resident set of this process so far, in bytes.
std::int64_t PeakResidentBytes();

/// Resident set of this process now, in bytes.
std::int64_t ResidentBytes();

/// The CPU's name as the kernel gives it, "unknown CPU" where it gives none.
std::string CpuName();

}  // namespace hotrow
