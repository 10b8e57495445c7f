#pragma once
// How Hotrow reports what goes wrong. The library never prints and never exits: it throws, and the type says
// whose turn it is. The command line prints "error: MESSAGE" and exits with the type's code.
//
//   Error             2  what was asked for is wrong (a flag, a file, a table, an id), or more than this
//                        machine has: memory for the tables, rows for the ids. Asking differently helps.
//   SystemError       1  what was asked for is right, and the system did not do it: a disk or a file-size
//                        limit that is full, a failed read or write, no more threads, processes, descriptors.
//   ClosedPipe      141  whoever read the output has gone. Nothing is printed; as a shell shows SIGPIPE.
//   std::logic_error  1  a broken invariant, which no input should be able to cause: HOTROW_CHECK, in every
//                        build.
//
// Messages name the thing (file, line, column, flag, table, feature), what was found, and what is valid:
// "day_0.tsv:12: column 3 (I2): 'x7' is not an integer".

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "hotrow/base/printable.h"

namespace hotrow {

/// A user error, or a limit of the machine's that the user can do something about.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The system failed at what was rightly asked of it.
class SystemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A write to a pipe that nobody reads any more.
class ClosedPipe : public SystemError {
 public:
  using SystemError::SystemError;
};

/// Throws Error with a formatted message, made printable: parts of it may come from a damaged file.
template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Printable(fmt::format(format, std::forward<Args>(args)...)));
}

/// The same as a SystemError.
template <typename... Args>
[[noreturn]] void FailSystem(fmt::format_string<Args...> format, Args&&... args) {
  throw SystemError(Printable(fmt::format(format, std::forward<Args>(args)...)));
}

namespace internal {
[[noreturn]] void ThrowErrno(int reason, const std::string& message);
[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  throw std::logic_error(fmt::format("broken invariant: {} at {}:{}", condition, file, line));
}
}  // namespace internal

/// "MESSAGE: no space left on device", for a system call that failed with this errno. What errno says decides
/// the type: Error where the name, the place or the permission was wrong, ClosedPipe for EPIPE, else
/// SystemError.
template <typename... Args>
[[noreturn]] void FailErrno(int reason, fmt::format_string<Args...> format, Args&&... args) {
  internal::ThrowErrno(reason, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace hotrow

/// Throws std::logic_error unless `condition` holds. Never for a user's input, never inside an inner loop.
#define HOTROW_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::hotrow::internal::CheckFailed(#condition, __FILE__, __LINE__))
