#include "hotrow/machine/memory.h"

#include <algorithm>
#include <limits>

#include "hotrow/machine/cgroups.h"

namespace hotrow {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

// What a version of cgroups calls a group's figures.
struct FigureNames {
  const char* limit;
  const char* used;
  const char* inactive_file;  // of memory.stat, of the group and all below it
  const char* active_file;
};
constexpr FigureNames kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
                                   "total_active_file "};
constexpr FigureNames kVersion2 = {"memory.max", "memory.current", "inactive_file ", "active_file "};

// Lowers `memory` to what the group leaves. A limit of "max" is no number, and none.
void LimitTo(const CgroupDirectory& group, Memory& memory) {
  const FigureNames& names = group.version == 1 ? kVersion1 : kVersion2;
  const std::int64_t limit = NumberBehind(group.path + "/" + names.limit, "", kNone);
  if (limit == kNone) return;
  memory.total = std::min(memory.total, limit);
  const std::int64_t used = NumberBehind(group.path + "/" + names.used, "", kNone);
  if (used == kNone) return;
  const std::string stat = group.path + "/memory.stat";
  const std::int64_t cache =
      NumberBehind(stat, names.inactive_file, 0) + NumberBehind(stat, names.active_file, 0);
  const std::int64_t held = std::max<std::int64_t>(0, used - cache);  // the figures are of different moments
  memory.available = std::min(memory.available, std::max<std::int64_t>(0, limit - held));
}

}  // namespace

Memory ReadMemory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  constexpr std::int64_t kUnknown = kNone / 1024;
  Memory memory;
  memory.total = NumberBehind(meminfo, "MemTotal:", kUnknown) * 1024;
  memory.available = NumberBehind(meminfo, "MemAvailable:", kUnknown) * 1024;
  for (const CgroupDirectory& group : CgroupDirectories("memory", root)) LimitTo(group, memory);
  return memory;
}

}  // namespace hotrow
