#include "hotrow/base/system.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// "MemAvailable:  123 kB" of /proc/meminfo and "VmRSS: …" of /proc/self/status, in bytes.
std::int64_t KilobyteField(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream fields(line.substr(key.size()));
    std::int64_t kilobytes = 0;
    if (fields >> kilobytes) return kilobytes * 1024;
  }
  return kNone;
}

// A file that holds one number; "max" or no file means no limit.
std::int64_t NumberFile(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : kNone;
}

struct Cgroup {
  std::int64_t limit = kNone;
  std::int64_t used = 0;
};

Cgroup ReadCgroup() {
  const struct {
    const char* limit;
    const char* used;
  } candidates[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& c : candidates) {
    Cgroup group{NumberFile(c.limit), NumberFile(c.used)};
    if (group.limit != kNone && group.used != kNone) return group;
  }
  return {};
}

}  // namespace

std::int64_t AvailableMemory() {
  const std::int64_t kernel = KilobyteField("/proc/meminfo", "MemAvailable:");
  const Cgroup group = ReadCgroup();
  const std::int64_t in_group =
      group.limit == kNone ? kNone : std::max<std::int64_t>(0, group.limit - group.used);
  return std::min(kernel, in_group);
}

void NeedMemory(std::int64_t bytes, std::string_view what) {
  constexpr std::int64_t kAskedFor = std::int64_t{64} << 20;
  if (bytes < kAskedFor) return;
  const std::int64_t available = AvailableMemory();
  if (bytes <= available) return;
  Fail("{}: {:.2f} GiB are needed, {:.2f} GiB are available", what, GiB(bytes), GiB(available));
}

std::int64_t TotalMemory() {
  return std::min(KilobyteField("/proc/meminfo", "MemTotal:"), ReadCgroup().limit);
}

std::int64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::int64_t ResidentBytes() {
  const std::int64_t bytes = KilobyteField("/proc/self/status", "VmRSS:");
  return bytes == kNone ? 0 : bytes;
}

int AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
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
