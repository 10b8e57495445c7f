#pragma once
// Files that live as long as a test.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace hotrow {

/// A path in gtest's temporary directory, unique to the running test and process; the file, if any, is
/// removed at the end.
class TempFile {
 public:
  explicit TempFile(const std::string& name) {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + info->test_suite_name() + "." + info->name() + "." +
            std::to_string(getpid()) + "." + name;
  }
  TempFile(const std::string& name, std::string_view text) : TempFile(name) { Write(text); }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  void Write(std::string_view text) const {
    std::ofstream out(path_, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  void WriteGzip(std::string_view text) const {
    gzFile out = gzopen(path_.c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
  }
  std::string Read() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A named pipe through which a thread writes a text, once.
class Pipe {
 public:
  Pipe(const std::string& name, std::string text) : file_(name), text_(std::move(text)) {
    EXPECT_EQ(mkfifo(path().c_str(), 0600), 0);
    writer_ = std::thread([this] { file_.Write(text_); });
  }
  ~Pipe() {
    const int fd =
        open(path().c_str(), O_RDONLY | O_NONBLOCK);  // a writer whom nobody read waits for a reader
    writer_.join();
    close(fd);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  const std::string& path() const { return file_.path(); }

 private:
  TempFile file_;
  std::string text_;
  std::thread writer_;
};

}  // namespace hotrow
