#include "hotrow/machine/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

constexpr std::int64_t kHugePage = 2 * kMiB;

[[noreturn]] void FailMemory(const char* what, std::int64_t bytes) {
  const int reason = errno;  // before the files that tell the memory set it
  Fail("out of memory: cannot {} {:.2f} GiB ({}); {:.2f} GiB are available", what, GiB(bytes),
       std::strerror(reason), GiB(AvailableMemory()));
}

// Anonymous mappings of a huge page or more are aligned to it, or their first and last pages stay small.
void* Map(std::int64_t bytes, int protection, int flags) {
  const std::int64_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* raw = mmap(nullptr, Index(bytes + slack), protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (raw == MAP_FAILED) FailMemory("map", bytes);
  if (slack == 0) return raw;
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = (address + kHugePage - 1) & ~static_cast<std::uintptr_t>(kHugePage - 1);
  if (aligned > address) munmap(raw, aligned - address);
  const std::uintptr_t tail = address + static_cast<std::uintptr_t>(slack) - aligned;
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + static_cast<std::uintptr_t>(bytes)), tail);
  void* data = reinterpret_cast<void*>(aligned);
  madvise(data, Index(bytes),
          MADV_HUGEPAGE);  // advice: a kernel without huge pages says no
  return data;
}

// Sizes whose rounding would overflow are cut to one that does not: no machine maps either, and Map says so.
std::int64_t Rounded(std::int64_t bytes, std::int64_t page) {
  return RoundUp(std::min(bytes, std::int64_t{1} << 62), page);
}

}  // namespace

MappedMemory::MappedMemory(std::int64_t bytes) {
  HOTROW_CHECK(bytes >= 0);
  if (bytes == 0) return;
  bytes_ = Rounded(bytes, bytes >= kHugePage ? kHugePage : 4096);
  // The kernel grants more than it has and kills whoever touches it: ask first, where it matters.
  NeedMemory(bytes_, "out of memory");
  data_ = Map(bytes_, PROT_READ | PROT_WRITE, 0);
}

MappedMemory MappedMemory::Reserve(std::int64_t bytes) {
  HOTROW_CHECK(bytes >= 0);
  MappedMemory memory;
  if (bytes == 0) return memory;
  memory.bytes_ = Rounded(bytes, kHugePage);
  memory.data_ = Map(memory.bytes_, PROT_NONE, MAP_NORESERVE);
  return memory;
}

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(data_, Index(bytes_));
}

void MappedMemory::Commit(std::int64_t begin, std::int64_t end) {
  HOTROW_CHECK(0 <= begin && begin <= end && end <= bytes_);
  const std::int64_t first = begin / kHugePage * kHugePage;
  const std::int64_t last = RoundUp(end, kHugePage);
  if (first == last) return;
  void* data = static_cast<char*>(data_) + first;
  const auto bytes = Index(last - first);
  if (mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0) FailMemory("commit", last - first);
}

}  // namespace hotrow
