#pragma once
// Where the cgroups of this process keep their files.

#include <cstdint>
#include <string>
#include <vector>

namespace hotrow {

struct CgroupDirectory {
  int version = 1;  ///< 1 or 2: the same figures have other names
  std::string path;
};

/// The process's group of `controller` ("memory", "cpu") and all groups around it up to the root, in version
/// 1 and 2, as /proc/self/cgroup has them. A container may see its own group as the root while the path is
/// the machine's, so not every directory is there. A directory may be named twice. `root` stands before every
/// path, for trees made elsewhere.
std::vector<CgroupDirectory> CgroupDirectories(const std::string& controller, const std::string& root = "");

/// The number behind the first line of a file that begins with `key`: "MemAvailable:" of /proc/meminfo, say.
/// No unit is read. `none` where there is no such line, or no number in it.
std::int64_t NumberBehind(const std::string& path, const std::string& key, std::int64_t none);

}  // namespace hotrow
