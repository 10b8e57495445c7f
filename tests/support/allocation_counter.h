#pragma once
// Counts what a test program allocates: its own operator new and mmap replace the usual ones. The sanitizers
// have theirs, which must stay: there nothing is counted.

#include <cstdint>

namespace hotrow {

/// Allocations of 4 KiB or more so far through operator new, by any thread. Smaller ones are the lists of
/// arguments that the GEMM library makes whenever it runs a product.
std::int64_t LargeAllocations();

/// Mappings made so far through mmap, by any thread: every Buffer's growth is one, and so is each piece of
/// code that the GEMM library generates. The allocator's own and threads' stacks do not count.
std::int64_t Mappings();

}  // namespace hotrow
