#pragma once
// Counts what this test program allocates through operator new, which its own version replaces.

#include <cstdint>

namespace hotrow {

/// Allocations of 4 KiB or more so far, by any thread. Smaller ones are the lists of arguments that the GEMM
/// library makes whenever it runs a product.
std::int64_t LargeAllocations();

}  // namespace hotrow
