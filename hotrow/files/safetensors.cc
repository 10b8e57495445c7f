#include "hotrow/files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/files/strict_json.h"

namespace hotrow {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied to and from disk as they lie");

constexpr const char* kMetadataKey = "__metadata__";
constexpr std::int64_t kLengthBytes = 8;
// The limit of the format's reference implementation: a longer header is a damaged length, not a model.
constexpr std::int64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kWriteBufferBytes = std::size_t{1} << 20;

struct TypeName {
  TensorType type;
  const char* name;
  std::int64_t bytes;
};
constexpr std::array<TypeName, 5> kTypes = {{{TensorType::kF32, "F32", 4},
                                             {TensorType::kF64, "F64", 8},
                                             {TensorType::kI32, "I32", 4},
                                             {TensorType::kI64, "I64", 8},
                                             {TensorType::kU8, "U8", 1}}};

const TypeName& TypeOf(TensorType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.type == type; });
}

nlohmann::json ParseHeader(const std::string& path, const std::string& text) {
  constexpr int kDepth = 3;  // header, tensor, shape
  nlohmann::json header = ParseStrictJson(text, kDepth, path + ": header");
  if (!header.is_object()) Fail("{}: header: a JSON object was expected", path);
  return header;
}

std::int64_t Size(const std::string& path, const std::string& tensor, const nlohmann::json& value) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    Fail("{}: tensor '{}': {} is not a size", path, tensor, value.dump());
  }
  return value.get<std::int64_t>();
}

const nlohmann::json& Field(const std::string& path, const std::string& tensor, const nlohmann::json& entry,
                            const char* field, bool (nlohmann::json::*is_type)() const noexcept) {
  const auto found = entry.find(field);
  if (found == entry.end() || !((*found).*is_type)()) {
    Fail("{}: tensor '{}': '{}' is missing or of the wrong kind", path, tensor, field);
  }
  return *found;
}

TensorInfo ParseTensor(const std::string& path, const std::string& name, const nlohmann::json& entry) {
  if (!entry.is_object()) Fail("{}: tensor '{}': an object was expected", path, name);
  TensorInfo info;
  info.name = name;
  const auto dtype =
      Field(path, name, entry, "dtype", &nlohmann::json::is_string).get_ref<const std::string&>();
  const auto type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return dtype == t.name; });
  if (type == kTypes.end())
    Fail("{}: tensor '{}': type '{}' is not one of F32, F64, I32, I64, U8", path, name, dtype);
  info.type = type->type;
  std::int64_t bytes = type->bytes;
  for (const auto& dimension : Field(path, name, entry, "shape", &nlohmann::json::is_array)) {
    info.shape.push_back(Size(path, name, dimension));
    if (__builtin_mul_overflow(bytes, info.shape.back(), &bytes)) {
      Fail("{}: tensor '{}': its shape does not fit in 64 bits", path, name);
    }
  }
  const auto& offsets = Field(path, name, entry, "data_offsets", &nlohmann::json::is_array);
  if (offsets.size() != 2)
    Fail("{}: tensor '{}': data_offsets has {} numbers, not 2", path, name, offsets.size());
  info.begin = Size(path, name, offsets[0]);
  info.end = Size(path, name, offsets[1]);
  if (info.begin > info.end || info.end - info.begin != bytes) {
    Fail("{}: tensor '{}': data_offsets [{}, {}] do not span the {} bytes of its shape and type", path, name,
         info.begin, info.end, bytes);
  }
  return info;
}

// Tensors lie one after another and fill the data: no byte belongs to two of them, or to none.
void CheckLayout(const std::string& path, const std::map<std::string, TensorInfo>& tensors,
                 std::int64_t data_bytes) {
  std::vector<const TensorInfo*> order;
  for (const auto& [name, info] : tensors) order.push_back(&info);
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::int64_t end = 0;
  for (const TensorInfo* info : order) {
    if (info->begin != end) {
      Fail("{}: tensor '{}' begins at byte {} of the data, but the tensor before it ends at {}", path,
           info->name, info->begin, end);
    }
    end = info->end;
  }
  if (end != data_bytes)
    Fail("{}: the tensors take {} bytes of data, the file has {}", path, end, data_bytes);
}

// What a file begins with, its length first, and the bytes of data that are to follow.
struct Header {
  std::string text;
  std::int64_t data_bytes = 0;
};

Header MakeHeader(const std::string& path, const std::vector<SafetensorsWriter::Tensor>& tensors,
                  const std::map<std::string, std::string>& metadata) {
  Header header;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json[kMetadataKey] = metadata;
  for (const SafetensorsWriter::Tensor& tensor : tensors) {
    if (tensor.name == kMetadataKey || json.contains(tensor.name)) {
      Fail("{}: tensor '{}': its name is taken", path, tensor.name);
    }
    std::int64_t bytes = TypeOf(tensor.type).bytes;
    for (const std::int64_t dimension : tensor.shape) {
      if (dimension < 0) Fail("{}: tensor '{}': {} is not a size", path, tensor.name, dimension);
      bytes = CheckedMul(bytes, dimension);
    }
    const std::int64_t end = CheckedAdd(header.data_bytes, bytes);
    json[tensor.name] = {{"dtype", TypeOf(tensor.type).name},
                         {"shape", tensor.shape},
                         {"data_offsets", {header.data_bytes, end}}};
    header.data_bytes = end;
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const nlohmann::json::exception&) {
    Fail("{}: a tensor's name or the metadata is not valid UTF-8", path);
  }
  // Spaces up to a multiple of 8, so that the data is aligned for readers that map the file.
  text.resize(static_cast<std::size_t>(RoundUp(static_cast<std::int64_t>(text.size()), kLengthBytes)), ' ');
  const std::uint64_t length = text.size();
  if (std::ssize(text) > kMaxHeaderBytes) {
    Fail("{}: its header would take {} bytes; readers of safetensors accept at most {}", path, length,
         kMaxHeaderBytes);
  }
  header.text.assign(reinterpret_cast<const char*>(&length), sizeof(length));
  header.text += text;
  return header;
}

// A model is no stream: its readers go back and forth.
const std::string& NoDevice(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    Fail("{}: exists and is not a file", path);
  }
  return path;
}

}  // namespace

std::int64_t TensorInfo::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dimension : shape) product = CheckedMul(product, dimension);
  return product;
}

SafetensorsReader::SafetensorsReader(const std::string& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) Fail("{}: no such file", path);
  if (!std::filesystem::is_regular_file(path, error)) Fail("{}: not a file", path);
  file_.open(path, std::ios::binary);
  if (const int reason = errno; !file_) FailErrno(reason, "{}: cannot open", path);
  const auto file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) FailErrno(error.value(), "{}: cannot read its size", path);
  std::uint64_t length = 0;
  if (file_bytes < kLengthBytes ||
      !file_.read(reinterpret_cast<char*>(&length), static_cast<std::streamsize>(kLengthBytes))) {
    Fail("{}: {} bytes are too few for a safetensors file", path, file_bytes);
  }
  const std::int64_t limit = std::min(kMaxHeaderBytes, file_bytes - kLengthBytes);
  if (length > static_cast<std::uint64_t>(limit)) {
    Fail("{}: not a safetensors file: a header of {} bytes, at most {} are possible", path, length, limit);
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  if (!file_.read(text.data(), static_cast<std::streamsize>(length)))
    Fail("{}: cannot read the header", path);
  data_start_ = kLengthBytes + static_cast<std::int64_t>(length);

  const nlohmann::json header = ParseHeader(path, text);
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadataKey) {
      tensors_.emplace(name, ParseTensor(path, name, entry));
      continue;
    }
    if (!entry.is_object()) Fail("{}: {} is not an object", path, kMetadataKey);
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) Fail("{}: {}: the value of '{}' is not a string", path, kMetadataKey, key);
      metadata_.emplace(key, value.get<std::string>());
    }
  }
  CheckLayout(path, tensors_, file_bytes - data_start_);
}

const TensorInfo& SafetensorsReader::Info(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) Fail("{}: there is no tensor '{}'", path_, name);
  return found->second;
}

void SafetensorsReader::ReadBytes(const TensorInfo& info, std::int64_t offset, std::int64_t bytes,
                                  void* out) {
  if (bytes == 0) return;
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(data_start_ + info.begin + offset));
  if (file_.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes))) return;
  if (const int reason = errno; file_.bad())
    FailErrno(reason, "{}: tensor '{}': cannot read", path_, info.name);
  Fail("{}: tensor '{}': cannot read {} bytes: the file was changed", path_, info.name, bytes);
}

void SafetensorsReader::Read(const std::string& name, std::int64_t first, std::int64_t count, float* out) {
  const TensorInfo& info = Info(name);
  if (info.type != TensorType::kF32) {
    Fail("{}: tensor '{}' is {}, F32 was expected", path_, name, TypeOf(info.type).name);
  }
  if (first < 0 || count < 0 || first > info.elements() - count) {
    Fail("{}: tensor '{}' has {} elements; {} from {} on were asked for", path_, name, info.elements(), count,
         first);
  }
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(float));
  ReadBytes(info, first * kBytes, count * kBytes, out);
}

template <typename T>
std::vector<T> SafetensorsReader::ReadAll(const std::string& name, TensorType type) {
  const TensorInfo& info = Info(name);
  if (info.type != type) {
    Fail("{}: tensor '{}' is {}, {} was expected", path_, name, TypeOf(info.type).name, TypeOf(type).name);
  }
  std::vector<T> values(static_cast<std::size_t>(info.elements()));
  ReadBytes(info, 0, info.end - info.begin, values.data());
  return values;
}

std::vector<float> SafetensorsReader::ReadF32(const std::string& name) {
  return ReadAll<float>(name, TensorType::kF32);
}
std::vector<double> SafetensorsReader::ReadF64(const std::string& name) {
  return ReadAll<double>(name, TensorType::kF64);
}
std::vector<std::int32_t> SafetensorsReader::ReadI32(const std::string& name) {
  return ReadAll<std::int32_t>(name, TensorType::kI32);
}
std::vector<std::int64_t> SafetensorsReader::ReadI64(const std::string& name) {
  return ReadAll<std::int64_t>(name, TensorType::kI64);
}

std::vector<char> SafetensorsReader::ReadU8(const std::string& name) {
  return ReadAll<char>(name, TensorType::kU8);
}

std::int64_t SafetensorsWriter::Check(const std::string& path, const std::vector<Tensor>& tensors,
                                      const std::map<std::string, std::string>& metadata) {
  NoDevice(path);
  const Header header = MakeHeader(path, tensors, metadata);
  const std::int64_t bytes = CheckedAdd(std::ssize(header.text), header.data_bytes);
  NeedRoom(path, bytes);
  return bytes;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<Tensor>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(NoDevice(path)) {
  const Header header = MakeHeader(path, tensors, metadata);
  header_bytes_ = std::ssize(header.text);
  expected_bytes_ = header.data_bytes;
  buffer_.reserve(kWriteBufferBytes);
  buffer_ += header.text;
}

void SafetensorsWriter::AppendBytes(const char* data, std::int64_t bytes) {
  HOTROW_CHECK(bytes >= 0);
  if (bytes > expected_bytes_ - written_bytes_) {
    Fail("{}: {} bytes of data were announced, more were appended", file_.path(), expected_bytes_);
  }
  const auto size = static_cast<std::size_t>(bytes);
  if (buffer_.size() + size > kWriteBufferBytes) {
    file_.Write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  if (size > kWriteBufferBytes) {
    file_.Write(data, size);
  } else {
    buffer_.append(data, size);
  }
  written_bytes_ += bytes;
}

void SafetensorsWriter::Finish() {
  if (written_bytes_ != expected_bytes_) {
    Fail("{}: {} bytes of data were announced, {} were appended", file_.path(), expected_bytes_,
         written_bytes_);
  }
  file_.Write(buffer_.data(), buffer_.size());
  file_.Finish();
}

}  // namespace hotrow
