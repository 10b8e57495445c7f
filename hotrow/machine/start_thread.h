#pragma once
// Starting threads where there may be no more.

#include <system_error>
#include <thread>
#include <utility>

#include "hotrow/base/error.h"

namespace hotrow {

/// A thread that runs `body`. Throws SystemError, saying what would help, when the system gives no more
/// threads.
template <typename Body>
[[nodiscard]] std::thread StartThread(Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    FailSystem(
        "cannot start one more thread: {}; use fewer --threads and --ranks, or raise the limits that "
        "ulimit -u and ulimit -v show",
        error.code().message());
  }
}

}  // namespace hotrow
