#pragma once
// A text file that is there whole or not at all.

#include <fmt/core.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace hotrow {

/// Writes beside the final name and renames in Finish, after fsync; without Finish nothing remains. What
/// exists and is no file, a device or a pipe, is written to as it is: a rename would replace it. A symbolic
/// link stays, and what it points to is written. Buffered.
class TextWriter {
 public:
  /// Throws Error when the file cannot be made, or is a directory.
  explicit TextWriter(std::string path);
  ~TextWriter();
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushAt) Flush();
  }
  /// Throws Error when the disk is full or the rename fails.
  void Finish();

 private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 20;
  void Flush();
  [[noreturn]] void FailWrite() const;

  std::string path_;
  std::string temporary_;  // empty: written in place
  std::string buffer_;
  int fd_ = -1;
};

}  // namespace hotrow
