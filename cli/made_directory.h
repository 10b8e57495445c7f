#pragma once
// A directory that a command makes for what it will write.

#include <filesystem>
#include <vector>

#include "cli/targets.h"

namespace hotrow::cli {

/// Makes the directory of a flag, and those above it, where they are missing: that is how one sees that it
/// can be. At the end of its life those that it made and that are empty are removed, so that a run that ends
/// before it writes leaves none, unless a signal or, under MPI, another rank's failure kills the process. An
/// empty path: nothing.
class MadeDirectory {
 public:
  /// Throws Error naming the flag when the directory cannot be made.
  explicit MadeDirectory(const NamedFile& directory);
  ~MadeDirectory() { RemoveEmpty(); }
  MadeDirectory(const MadeDirectory&) = delete;
  MadeDirectory& operator=(const MadeDirectory&) = delete;

 private:
  void RemoveEmpty() const;

  std::vector<std::filesystem::path> made_;  // outermost first
};

}  // namespace hotrow::cli
