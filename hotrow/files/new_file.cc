#include "hotrow/files/new_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {
namespace {

constexpr mode_t kMode = 0666;  // less what umask takes

std::string DirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string OpenFileName(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// -1 where that is not possible, or where it could get no name later.
int OpenUnnamed(const std::string& directory) {
  const int fd = open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
  if (fd < 0 || access(OpenFileName(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

// A new name lasts once the directory is on disk. Some file systems cannot sync a directory: no harm done.
void SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

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

NewFile::NewFile(const std::string& path, UnfinishedFile unfinished) : path_(path) {
  struct stat target {};
  const bool exists = stat(path_.c_str(), &target) == 0;
  if (exists && S_ISDIR(target.st_mode)) Fail("{}: is a directory", path_);
  in_place_ = exists && !S_ISREG(target.st_mode);
  if (in_place_) {
    fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    path_ = FollowLinks(path_);
    if (unfinished == UnfinishedFile::kUnnamed) fd_ = OpenUnnamed(DirectoryOf(path_));
    if (fd_ < 0) {
      temporary_ = Beside();
      fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
    }
  }
  if (fd_ < 0) FailWrite();
}

std::string NewFile::Beside() const { return fmt::format("{}.{}.tmp", path_, getpid()); }

void NewFile::Abandon() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void NewFile::Write(const char* data, std::size_t bytes) {
  HOTROW_CHECK(fd_ >= 0);
  while (bytes > 0) {
    const ssize_t wrote = write(fd_, data, bytes);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) FailWrite();
    data += wrote;
    bytes -= Index(wrote);
  }
}

// A link does not replace what has the name already, a rename does.
void NewFile::GiveName() {
  if (temporary_.empty()) {
    const std::string open_file = OpenFileName(fd_);
    const auto link_as = [&](const std::string& name) {
      return linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_as(path_)) return;
    if (errno != EEXIST) FailWrite();
    const std::string beside = Beside();
    unlink(beside.c_str());  // of a process that had this one's number, and was killed
    if (!link_as(beside)) FailWrite();
    temporary_ = beside;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) FailWrite();
}

void NewFile::Finish() {
  HOTROW_CHECK(fd_ >= 0);
  if (!in_place_) {
    if (fsync(fd_) != 0) FailWrite();
    GiveName();
    SyncDirectory(DirectoryOf(path_));
  }
  close(fd_);
  fd_ = -1;
}

void NewFile::FailWrite() const { FailErrno(errno, "{}: cannot write", path_); }

}  // namespace hotrow
