#include "tests/support/allocation_counter.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> g_large_allocations{0};
std::atomic<std::int64_t> g_mappings{0};
[[maybe_unused]] constexpr std::size_t kLarge = 4096;
}  // namespace

namespace hotrow {
std::int64_t LargeAllocations() { return g_large_allocations.load(); }
std::int64_t Mappings() { return g_mappings.load(); }
}  // namespace hotrow

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) {
  if (size >= kLarge) g_large_allocations.fetch_add(1);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  g_mappings.fetch_add(1);
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
#endif
