#include "hotrow/machine/system.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/cgroups.h"
#include "hotrow/machine/memory.h"

namespace hotrow {
namespace {

// Below the limit that `ulimit -v` shows.
std::int64_t AddressSpaceLeft() {
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(kUnlimited)) {
    return kUnlimited;
  }
  const std::int64_t used = NumberBehind("/proc/self/status", "VmSize:", 0) * 1024;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

}  // namespace

std::int64_t AvailableMemory() { return std::min(AvailableForReserved(), AddressSpaceLeft()); }

std::int64_t AvailableForReserved() { return ReadMemory().available; }

void NeedMemory(std::int64_t bytes, std::string_view what) {
  constexpr std::int64_t kAskedFor = 64 * kMiB;
  if (bytes < kAskedFor) return;
  const std::int64_t available = AvailableMemory();
  if (bytes <= available) return;
  Fail("{}: {:.2f} GiB are needed, {:.2f} GiB are available", what, GiB(bytes), GiB(available));
}

std::int64_t TotalMemory() { return ReadMemory().total; }

std::int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

}  // namespace hotrow
