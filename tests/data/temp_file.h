#pragma once
// Files that live as long as a test.

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

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

}  // namespace hotrow
