#include "hotrow/data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 17;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to say: the largest window, a gzip header
constexpr std::string_view kMagic = "\x1f\x8b";

const char* PathToOpen(const std::string& path) { return path == "-" ? "/dev/stdin" : path.c_str(); }

}  // namespace

// A z_stream and the compressed bytes that it has not taken yet. zlib's own gzread would pass over whatever
// follows a member, and a damaged file would look like a shorter one.
struct InputFile::Gzip {
  Gzip() { HOTROW_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK); }
  ~Gzip() { inflateEnd(&stream); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  z_stream stream{};
  std::vector<char> block = std::vector<char>(kBlock);
  bool in_member = true;
  bool padded = false;  // zero bytes have followed a member: nothing else may
};

bool IsPipe(const std::string& path) {
  struct stat status {};
  if (stat(PathToOpen(path), &status) != 0) return false;
  if (!S_ISCHR(status.st_mode)) return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  const int fd = open(PathToOpen(path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const bool terminal = fd >= 0 && isatty(fd) == 1;
  if (fd >= 0) close(fd);
  return terminal;
}

InputFile::InputFile(std::string path, bool pipes) : path_(std::move(path)), is_pipe_(IsPipe(path_)) {
  Open(pipes);
  try {
    if (!is_pipe_) stamp_ = StampOf(fd_);
    start_.resize(kMagic.size());
    std::size_t known = 0;
    for (std::size_t got = 1; got > 0 && known < kMagic.size(); known += got) {
      got = ReadRaw(start_.data() + known, kMagic.size() - known);
    }
    start_.resize(known);
    if (start_ == kMagic) gzip_ = std::make_unique<Gzip>();
  } catch (...) {
    close(fd_);
    throw;
  }
}

void InputFile::Open(bool pipes) {
  if (path_.empty()) Fail("data: the name of a file is empty");
  if (is_pipe_ && !pipes) {
    Fail("{}: is a pipe; a file is needed, since data are read more than once", path_);
  }
  fd_ = open(PathToOpen(path_), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) FailErrno(errno, "{}: cannot open", path_);
  struct stat status {};
  if (is_pipe_ || (fstat(fd_, &status) == 0 && S_ISREG(status.st_mode))) return;
  close(fd_);
  Fail("{}: is a {}; a file is needed", path_, S_ISDIR(status.st_mode) ? "directory" : "device");
}

InputFile::~InputFile() { close(fd_); }

std::size_t InputFile::Read(char* out, std::size_t size) {
  return gzip_ ? Inflate(out, size) : ReadStored(out, size);
}

// The file's bytes as they are.
std::size_t InputFile::ReadStored(char* out, std::size_t size) {
  if (start_.empty()) return ReadRaw(out, size);
  const std::size_t count = start_.copy(out, size);
  start_.erase(0, count);
  return count;
}

std::size_t InputFile::ReadRaw(char* out, std::size_t size) {
  for (;;) {
    const ssize_t got = read(fd_, out, size);
    // A record cut short where a writer has come to so far looks like a whole one.
    if (got == 0 && !is_pipe_ && StampOf(fd_) != stamp_) Fail("{}: was written to while it was read", path_);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) FailErrno(errno, "{}: cannot read", path_);
  }
}

// Behind a member: drops the zero bytes that come next. True when nothing else is left of the block.
bool InputFile::PassZeros() {
  z_stream& stream = gzip_->stream;
  while (stream.avail_in > 0 && *stream.next_in == 0) {
    gzip_->padded = true;
    ++stream.next_in;
    --stream.avail_in;
  }
  return stream.avail_in == 0;
}

std::size_t InputFile::Inflate(char* out, std::size_t size) {
  z_stream& stream = gzip_->stream;
  const auto wanted = static_cast<uInt>(std::min(size, kBlock));
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = wanted;
  while (stream.avail_out == wanted) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(ReadStored(gzip_->block.data(), gzip_->block.size()));
      stream.next_in = reinterpret_cast<Bytef*>(gzip_->block.data());
      if (stream.avail_in == 0 && gzip_->in_member) Fail("{}: the compressed file ends early", path_);
      if (stream.avail_in == 0) return 0;
    }
    if (!gzip_->in_member) {
      if (PassZeros()) continue;
      if (gzip_->padded || *stream.next_in != static_cast<unsigned char>(kMagic[0])) {
        Fail(
            "{}: other bytes follow the end of the compressed data: is the file two files in one, or "
            "damaged?",
            path_);
      }
      HOTROW_CHECK(inflateReset(&stream) == Z_OK);
      gzip_->in_member = true;
    }
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      gzip_->in_member = false;
    } else if (status == Z_MEM_ERROR) {
      Fail("{}: not enough memory to decompress it", path_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      Fail("{}: the compressed data are damaged: {}", path_, stream.msg == nullptr ? "" : stream.msg);
    }
  }
  return wanted - stream.avail_out;
}

}  // namespace hotrow
