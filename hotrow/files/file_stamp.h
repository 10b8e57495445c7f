#pragma once
// Whether a file is still the one that was read.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace hotrow {

/// What tells a file's content from another's without reading it: which file it is, its size, and when it was
/// last written to. All 0 for what is not there.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;  ///< of that second

  bool operator==(const FileStamp&) const = default;
};

FileStamp StampOf(int fd);
FileStamp StampOf(const std::string& path);

}  // namespace hotrow
