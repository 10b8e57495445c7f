#pragma once
// safetensors: the file format in which models are exchanged. 8 bytes of little-endian header length, a
// JSON header
//   {"name": {"dtype", "shape", "data_offsets"}, …, "__metadata__": {…}}, then the tensors' bytes.
// https://huggingface.co/docs/safetensors (format, version of 2023)

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "hotrow/base/size.h"
#include "hotrow/files/new_file.h"

namespace hotrow {

enum class TensorType { kF32, kF64, kI32, kI64, kU8 };

struct TensorInfo {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< bytes from the start of the data
  std::int64_t end = 0;

  std::int64_t elements() const;
};

/// Reads tensors of a file, each when asked for: a file larger than memory is fine. Throws Error naming the
/// file, and the tensor where there is one, for anything that does not agree with the format (bad lengths,
/// overlapping or missing bytes, unknown types).
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool Has(const std::string& name) const { return tensors_.contains(name); }
  const TensorInfo& Info(const std::string& name) const;

  /// Elements [first, first + count) of an F32 tensor into out. Throws Error when the tensor has another type
  /// or fewer elements.
  void Read(const std::string& name, std::int64_t first, std::int64_t count, float* out);
  /// A whole tensor, its type checked.
  std::vector<float> ReadF32(const std::string& name);
  std::vector<double> ReadF64(const std::string& name);
  std::vector<std::int32_t> ReadI32(const std::string& name);
  std::vector<std::int64_t> ReadI64(const std::string& name);
  std::vector<char> ReadU8(const std::string& name);

 private:
  template <typename T>
  std::vector<T> ReadAll(const std::string& name, TensorType type);
  void ReadBytes(const TensorInfo& info, std::int64_t offset, std::int64_t bytes, void* out);

  std::string path_;
  std::ifstream file_;
  std::int64_t data_start_ = 0;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes tensors one after another, streamed: only the piece at hand is in memory. A NewFile: a reader
/// never sees half of it, and an interrupted write leaves the old one.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    TensorType type = TensorType::kF32;
  };
  /// Throws Error where a writer of the same would fail, now or when it runs out of disk: hours later, if
  /// what it is to write is still to be computed. Likewise for a header that is longer than readers accept.
  /// Returns the bytes of the file.
  static std::int64_t Check(const std::string& path, const std::vector<Tensor>& tensors,
                            const std::map<std::string, std::string>& metadata);

  /// The tensors, in the order in which their data will be appended. Throws Error when two have one name or
  /// `path` cannot be written (a missing directory, something that is not a file).
  SafetensorsWriter(const std::string& path, const std::vector<Tensor>& tensors,
                    const std::map<std::string, std::string>& metadata);

  /// The next `count` values of the data, tensor after tensor; small pieces are gathered before they are
  /// written. Throws Error when there are more bytes of them than the tensors have, or the disk is full.
  template <typename T>
  void Append(const T* data, std::int64_t count) {
    AppendBytes(reinterpret_cast<const char*>(data), CheckedMul(count, std::int64_t{sizeof(T)}));
  }
  /// Throws Error when fewer bytes were appended than the tensors have, or the disk is full. Nothing may be
  /// appended after it.
  void Finish();

  /// Of the file, and how many of them were appended.
  std::int64_t file_bytes() const { return header_bytes_ + expected_bytes_; }
  std::int64_t appended_bytes() const { return header_bytes_ + written_bytes_; }

 private:
  void AppendBytes(const char* data, std::int64_t bytes);

  NewFile file_;
  std::string buffer_;
  std::int64_t header_bytes_ = 0;    // with its length
  std::int64_t expected_bytes_ = 0;  // of data
  std::int64_t written_bytes_ = 0;
};

}  // namespace hotrow
