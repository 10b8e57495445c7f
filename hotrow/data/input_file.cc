#include "hotrow/data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 17;
constexpr int kGzipWindow = 15 + 16;  // zlib's way to say: the largest window, a gzip header
constexpr std::array<unsigned char, 2> kMagic = {0x1f, 0x8b};

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
};

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) Fail("data: the name of a file is empty");
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not wait
  // A file server holds a lease on it, which it gives up when asked.
  if (fd_ < 0 && errno == EWOULDBLOCK) fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) FailErrno(errno, "{}: cannot open", path_);
  struct stat status {};
  const bool known = fstat(fd_, &status) == 0;
  std::array<unsigned char, 2> start{};
  const bool regular = known && S_ISREG(status.st_mode);
  const bool compressed =
      regular && pread(fd_, start.data(), start.size(), 0) == std::ssize(start) && start == kMagic;
  if (!regular) {
    close(fd_);
    if (known && S_ISDIR(status.st_mode)) Fail("{}: is a directory; a file is needed", path_);
    Fail("{}: is a pipe or a device; a file is needed, since data are read more than once", path_);
  }
  stamp_ = StampOf(fd_);
  if (compressed) gzip_ = std::make_unique<Gzip>();
}

InputFile::~InputFile() { close(fd_); }

std::size_t InputFile::Read(char* out, std::size_t size) {
  return gzip_ ? Inflate(out, size) : ReadRaw(out, size);
}

std::size_t InputFile::ReadRaw(char* out, std::size_t size) {
  for (;;) {
    const ssize_t got = read(fd_, out, size);
    // A record cut short where a writer has come to so far looks like a whole one.
    if (got == 0 && StampOf(fd_) != stamp_) Fail("{}: was written to while it was read", path_);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) FailErrno(errno, "{}: cannot read", path_);
  }
}

std::size_t InputFile::Inflate(char* out, std::size_t size) {
  z_stream& stream = gzip_->stream;
  const auto wanted = static_cast<uInt>(std::min(size, kBlock));
  stream.next_out = reinterpret_cast<Bytef*>(out);
  stream.avail_out = wanted;
  while (stream.avail_out == wanted) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(ReadRaw(gzip_->block.data(), gzip_->block.size()));
      stream.next_in = reinterpret_cast<Bytef*>(gzip_->block.data());
      if (stream.avail_in == 0 && gzip_->in_member) Fail("{}: the compressed file ends early", path_);
      if (stream.avail_in == 0) return 0;
    }
    if (!gzip_->in_member) {
      if (*stream.next_in != kMagic[0]) {
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
