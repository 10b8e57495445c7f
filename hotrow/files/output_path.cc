#include "hotrow/files/output_path.h"

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
    if (error) FailErrno(error.value(), "{}: cannot follow the link", path);
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return at.string();
}

void NeedRoom(const std::string& path, std::int64_t bytes) {
  const std::filesystem::path parent = std::filesystem::path(FollowLinks(path)).parent_path();
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(parent.empty() ? "." : parent, error);
  if (error || space.available >= static_cast<std::uintmax_t>(bytes)) return;
  FailSystem("{}: needs {:.3f} GB of disk, {:.3f} GB are free", path, static_cast<double>(bytes) / 1e9,
             static_cast<double>(space.available) / 1e9);
}

}  // namespace hotrow
