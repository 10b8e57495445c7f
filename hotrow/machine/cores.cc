#include "hotrow/machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "hotrow/machine/cgroups.h"

namespace hotrow {
namespace {

// "50000 100000", or "max 100000" for no quota.
std::optional<double> QuotaOfVersion2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

// A quota of -1 is none.
std::optional<double> QuotaOfVersion1(const std::string& group) {
  const std::int64_t quota = NumberBehind(group + "/cpu.cfs_quota_us", "", -1);
  const std::int64_t period = NumberBehind(group + "/cpu.cfs_period_us", "", -1);
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

}  // namespace

int AffinityCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::optional<double> CpuQuota(const std::string& root) {
  std::optional<double> least;
  for (const CgroupDirectory& group : CgroupDirectories("cpu", root)) {
    const std::optional<double> quota =
        group.version == 1 ? QuotaOfVersion1(group.path) : QuotaOfVersion2(group.path);
    if (quota) least = std::min(*quota, least.value_or(*quota));
  }
  return least;
}

int UsableCores(int cores, std::optional<double> quota) {
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

int AvailableCores() { return UsableCores(AffinityCores(), CpuQuota()); }

}  // namespace hotrow
