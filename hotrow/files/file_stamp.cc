#include "hotrow/files/file_stamp.h"

#include <sys/stat.h>

namespace hotrow {
namespace {

FileStamp FromStatus(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = status.st_size,
          .modified_s = status.st_mtim.tv_sec,
          .modified_ns = status.st_mtim.tv_nsec};
}

}  // namespace

FileStamp StampOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? FromStatus(status) : FileStamp{};
}

FileStamp StampOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? FromStatus(status) : FileStamp{};
}

}  // namespace hotrow
