#pragma once
// The bytes of a data file, plain or gzip.

#include <cstddef>
#include <memory>
#include <string>

#include "hotrow/files/file_stamp.h"

namespace hotrow {

/// Whether `path` names a pipe, a socket or a terminal, which is read once. "-" is stdin.
bool IsPipe(const std::string& path);

/// Reads a file from its start to its end. One that begins with gzip's magic bytes is decompressed, all its
/// members one after another; zero bytes behind the last, which some tapes and disks leave, are passed over.
class InputFile {
 public:
  /// Throws Error where the path cannot be opened, is a directory or a device, or, unless `pipes`, a pipe
  /// (IsPipe). A named pipe waits for its writer.
  explicit InputFile(std::string path, bool pipes = false);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Up to `size` >= 1 bytes into `out`; 0 at the end. Throws Error for what the disk does, for a
  /// file that was written to meanwhile, and for compressed data that are damaged, end early, or are followed
  /// by something else.
  std::size_t Read(char* out, std::size_t size);

  /// Of the file when it was opened; none of a pipe.
  const FileStamp& stamp() const { return stamp_; }

 private:
  struct Gzip;
  void Open(bool pipes);
  std::size_t ReadRaw(char* out, std::size_t size);
  std::size_t ReadStored(char* out, std::size_t size);
  bool PassZeros();
  std::size_t Inflate(char* out, std::size_t size);

  std::string path_;
  int fd_ = -1;
  bool is_pipe_ = false;
  FileStamp stamp_;
  std::string start_;           // bytes that were read to know a pipe's kind, and are still to be given
  std::unique_ptr<Gzip> gzip_;  // null for a plain file
};

}  // namespace hotrow
