#include "hotrow/files/path_list.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "hotrow/base/error.h"

namespace hotrow {

std::vector<std::string> SplitPaths(const std::string& flag, const std::vector<std::string>& values) {
  std::vector<std::string> paths;
  for (const std::string& value : values) {
    std::error_code ignored;
    const bool is_name = std::filesystem::exists(value, ignored);
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = is_name ? value.size() : std::min(value.find(',', begin), value.size());
      paths.push_back(value.substr(begin, end - begin));
      if (paths.back().empty()) Fail("{}: the name of a file is empty", flag);
      begin = end + 1;
    }
  }
  return paths;
}

}  // namespace hotrow
