#pragma once
// CPUs of the machine, as far as the process may use them.

#include <optional>
#include <string>

namespace hotrow {

/// CPUs this process may run on (its affinity mask), at least 1.
int AffinityCores();

/// CPUs whose whole time the process's cgroups let it have: the least quota over period of its group and all
/// groups around it (version 1: cpu.cfs_quota_us, cpu.cfs_period_us; version 2: cpu.max). 0.5 is half of one
/// CPU's time. None where there is no quota. `root` stands before every path, for trees made elsewhere.
std::optional<double> CpuQuota(const std::string& root = "");

/// Threads that such CPUs keep busy: `cores`, or the quota rounded up where that is less; at least 1. More of
/// them use the quota up at once and then all stand still for the rest of the period.
int UsableCores(int cores, std::optional<double> quota);

/// UsableCores of this process.
int AvailableCores();

}  // namespace hotrow
