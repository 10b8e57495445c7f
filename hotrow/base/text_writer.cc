#include "hotrow/base/text_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "hotrow/base/error.h"
#include "hotrow/base/output_path.h"

namespace hotrow {

TextWriter::TextWriter(std::string path) : path_(std::move(path)) {
  struct stat target {};
  const bool exists = stat(path_.c_str(), &target) == 0;
  if (exists && S_ISDIR(target.st_mode)) Fail("{}: is a directory", path_);
  const bool in_place = exists && !S_ISREG(target.st_mode);
  if (!in_place) {
    path_ = FollowLinks(path_);
    temporary_ = fmt::format("{}.{}.tmp", path_, getpid());
  }
  fd_ = open(in_place ? path_.c_str() : temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) FailWrite();
}

TextWriter::~TextWriter() {
  if (fd_ < 0) return;
  close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void TextWriter::Flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t wrote = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) FailWrite();
    done += static_cast<std::size_t>(wrote);
  }
  buffer_.clear();
}

void TextWriter::Finish() {
  Flush();
  if (!temporary_.empty() && fsync(fd_) != 0) FailWrite();
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) FailWrite();
  close(fd_);
  fd_ = -1;
}

void TextWriter::FailWrite() const {
  const int reason = errno;  // before anything else sets it
  Fail("{}: cannot write: {}", path_, std::strerror(reason));
}

}  // namespace hotrow
