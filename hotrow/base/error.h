#pragma once
// How Hotrow reports what goes wrong.
//
// A user's mistake (a flag, a file, a table, an id) throws Error. Its message names the thing (file, line,
// column, flag, table, feature), what was found, and what is valid: "day_0.tsv:12: column 3 (I2): 'x7' is not
// an integer". The command line prints "error: MESSAGE" and exits 2. The library never prints and never
// exits.
//
// A broken invariant, which no input should be able to cause, is HOTROW_CHECK: it throws std::logic_error, in
// every build.

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

#include "hotrow/base/printable.h"

namespace hotrow {

/// A mistake of the user's, or a limit of the machine's that the user can do something about.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with a formatted message, made printable: parts of it may come from a damaged file.
template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Printable(fmt::format(format, std::forward<Args>(args)...)));
}

namespace internal {
[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("broken invariant: {} at {}:{}", condition, file, line));
}
}  // namespace internal

}  // namespace hotrow

/// Throws std::logic_error unless `condition` holds. Never for a user's input, never inside an inner loop.
#define HOTROW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::hotrow::internal::CheckFailed(#condition, __FILE__, __LINE__))
