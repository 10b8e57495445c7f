#pragma once
// Sizes are std::int64_t here, subscripts of the standard library are not.

#include <cstddef>
#include <cstdint>

namespace hotrow {

/// A size or number that is not negative, as a subscript.
constexpr std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace hotrow
