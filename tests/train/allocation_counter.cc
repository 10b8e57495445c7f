#include "tests/train/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> g_large_allocations{0};
[[maybe_unused]] constexpr std::size_t kLarge = 4096;
}  // namespace

namespace hotrow {
std::int64_t LargeAllocations() { return g_large_allocations.load(); }
}  // namespace hotrow

// The sanitizers have an operator new of their own, which must stay paired with their delete: nothing is
// counted there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) {
  if (size >= kLarge) g_large_allocations.fetch_add(1);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
