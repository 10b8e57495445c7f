#include "hotrow/base/output_path.h"

#include <filesystem>

#include "hotrow/base/error.h"

namespace hotrow {

std::string FollowLinks(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // Linux gives up after as many
  fs::path at(path);
  std::error_code error;
  for (int links = 0; fs::is_symlink(at, error); ++links) {
    if (links == kMostLinks) Fail("{}: too many symbolic links", path);
    const fs::path target = fs::read_symlink(at, error);
    if (error) Fail("{}: cannot follow the link: {}", path, error.message());
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return at.string();
}

}  // namespace hotrow
