#include "hotrow/machine/cgroups.h"

#include <fstream>
#include <sstream>

namespace hotrow {
namespace {

// The groups of `path` below a mount, from the inside out.
void AddGroups(int version, const std::string& mount, std::string path,
               std::vector<CgroupDirectory>& directories) {
  if (path.find("/..") != std::string::npos) path.clear();  // outside of what the mount shows
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (; !path.empty(); path.resize(path.rfind('/'))) directories.push_back({version, mount + path});
  directories.push_back({version, mount});
}

}  // namespace

std::vector<CgroupDirectory> CgroupDirectories(const std::string& controller, const std::string& root) {
  const std::string mount2 = root + "/sys/fs/cgroup";
  const std::string mount1 = mount2 + "/" + controller;
  std::vector<CgroupDirectory> directories;
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    // "4:memory:/a/b" or "5:cpu,memory:/a/b" is a group of version 1, "0::/a/b" of version 2.
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      AddGroups(2, mount2, path, directories);
    } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
      AddGroups(1, mount1, path, directories);
    }
  }
  // Without /proc/self/cgroup the mounts' roots are all there is to know.
  directories.push_back({1, mount1});
  directories.push_back({2, mount2});
  return directories;
}

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

}  // namespace hotrow
