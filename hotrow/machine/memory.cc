#include "hotrow/machine/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace hotrow {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// Where a version of cgroups keeps its groups and what it calls their figures.
struct CgroupVersion {
  const char* mount;
  const char* limit;
  const char* used;
  const char* inactive_file;  // of memory.stat, of the group and all below it
  const char* active_file;
};
constexpr CgroupVersion kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                     "memory.usage_in_bytes", "total_inactive_file ", "total_active_file "};
constexpr CgroupVersion kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ",
                                     "active_file "};

// A file that holds one number; "max" or no file means no limit.
std::int64_t NumberFile(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value && value >= 0 ? value : kNone;
}

// Lowers `memory` to what the group in `directory` leaves.
void LimitTo(const std::string& directory, const CgroupVersion& version, Memory& memory) {
  const std::int64_t limit = NumberFile(directory + "/" + version.limit);
  if (limit == kNone) return;
  memory.total = std::min(memory.total, limit);
  const std::int64_t used = NumberFile(directory + "/" + version.used);
  if (used == kNone) return;
  const std::string stat = directory + "/memory.stat";
  const std::int64_t cache =
      NumberBehind(stat, version.inactive_file, 0) + NumberBehind(stat, version.active_file, 0);
  const std::int64_t held = std::max<std::int64_t>(0, used - cache);  // the figures are of different moments
  memory.available = std::min(memory.available, std::max<std::int64_t>(0, limit - held));
}

// The group of that path and all around it. A container may see its own group as the root while the path is
// the machine's: what of the path is not there is passed over.
void LimitToGroups(const std::string& root, const CgroupVersion& version, std::string path, Memory& memory) {
  if (path.find("/..") != std::string::npos) path.clear();  // outside of what the mount shows
  while (!path.empty() && path.back() == '/') path.pop_back();
  const std::string mount = root + version.mount;
  for (; !path.empty(); path.resize(path.rfind('/'))) LimitTo(mount + path, version, memory);
  LimitTo(mount, version, memory);
}

// "4:memory:/a/b" or "5:cpu,memory:/a/b" is version 1's memory group, "0::/a/b" version 2's.
void LimitToLine(const std::string& root, const std::string& line, Memory& memory) {
  const auto first = line.find(':');
  const auto second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) return;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::string path = line.substr(second + 1);
  if (controllers.empty()) return LimitToGroups(root, kVersion2, path, memory);
  if (("," + controllers + ",").find(",memory,") != std::string::npos) {
    LimitToGroups(root, kVersion1, path, memory);
  }
}

}  // namespace

std::int64_t NumberBehind(const std::string& path, const std::string& key, std::int64_t none) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream fields(line.substr(key.size()));
    std::int64_t value = 0;
    if (fields >> value) return value;
  }
  return none;
}

Memory ReadMemory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  constexpr std::int64_t kUnknown = kNone / 1024;
  Memory memory;
  memory.total = NumberBehind(meminfo, "MemTotal:", kUnknown) * 1024;
  memory.available = NumberBehind(meminfo, "MemAvailable:", kUnknown) * 1024;
  // Without /proc/self/cgroup the mounts' roots are all there is to know.
  LimitToGroups(root, kVersion1, "", memory);
  LimitToGroups(root, kVersion2, "", memory);
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) LimitToLine(root, line, memory);
  return memory;
}

}  // namespace hotrow
