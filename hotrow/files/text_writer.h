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
  /// Throws as NewFile does, here and in what follows.
  explicit TextWriter(const std::string& path) : file_(path) {}

  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushAt) Flush();
  }
  void Finish() {
    Flush();
    file_.Finish();
  }

 private:
  static constexpr std::size_t kFlushAt = std::size_t{1} << 20;
  void Flush() {
    file_.Write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  NewFile file_;
  std::string buffer_;
};

}  // namespace hotrow
