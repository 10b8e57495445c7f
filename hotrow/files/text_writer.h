#pragma once
// A text file that is there whole or not at all.

#include <fmt/core.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "hotrow/files/new_file.h"

namespace hotrow {

/// A NewFile of text: without Finish nothing remains. Buffered.
class TextWriter {
 public:
  /// Throws Error when the file cannot be made, or is a directory.
  explicit TextWriter(const std::string& path) : file_(path) {}

  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushAt) Flush();
  }
  /// Throws Error when the disk is full or the name cannot be given.
  void Finish();

 private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 20;
  void Flush();

  NewFile file_;
  std::string buffer_;
};

}  // namespace hotrow
