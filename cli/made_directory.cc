#include "cli/made_directory.h"

#include <unistd.h>

#include <system_error>

#include "hotrow/base/error.h"

namespace hotrow::cli {

namespace fs = std::filesystem;

MadeDirectory::MadeDirectory(const NamedFile& directory) {
  if (directory.path.empty()) return;
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = directory.path; !at.empty() && !fs::exists(at, error); at = at.parent_path())
    missing.push_back(at);
  error.clear();
  while (!missing.empty() && !error) {
    if (fs::create_directory(missing.back(), error)) made_.push_back(missing.back());
    missing.pop_back();
  }
  if (!error && !fs::is_directory(directory.path, error))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error) return;
  RemoveEmpty();
  FailErrno(error.value(), "{} {}: cannot make this directory", directory.flag, directory.path);
}

void MadeDirectory::RemoveEmpty() const {
  for (auto directory = made_.rbegin(); directory != made_.rend(); ++directory) rmdir(directory->c_str());
}

}  // namespace hotrow::cli
