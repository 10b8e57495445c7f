#pragma once
// The bytes of a data file, plain or gzip.

#include <cstddef>
#include <memory>
#include <string>

#include "hotrow/files/file_stamp.h"

namespace hotrow {

/// Reads a file from its start to its end. One that begins with gzip's magic bytes is decompressed, all its
/// members one after another.
class InputFile {
 public:
  /// Throws Error where the path cannot be opened, or is a directory, a pipe or a device.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Up to `size` >= 1 bytes into `out`; 0 at the end. Throws Error for what the disk does, for a
  /// file that was written to meanwhile, and for compressed data that are damaged, end early, or are followed
  /// by something else.
  std::size_t Read(char* out, std::size_t size);

  /// Of the file when it was opened.
  const FileStamp& stamp() const { return stamp_; }

 private:
  struct Gzip;
  std::size_t ReadRaw(char* out, std::size_t size);
  std::size_t Inflate(char* out, std::size_t size);

  std::string path_;
  int fd_ = -1;
  FileStamp stamp_;
  std::unique_ptr<Gzip> gzip_;  // null for a plain file
};

}  // namespace hotrow
