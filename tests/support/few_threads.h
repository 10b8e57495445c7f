#pragma once
// What happens where the system gives no more threads.

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "hotrow/base/error.h"

namespace hotrow {

/// For EXPECT_EXIT, in a process of its own: calls `body` where the stacks of some thirty threads use up the
/// address space, prints the SystemError it throws and exits with 2, or with 0 when it throws none.
template <typename Body>
[[noreturn]] void RunWithFewThreads(Body&& body) {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = static_cast<rlim_t>(pages) * 4096 + (rlim_t{256} << 20);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  try {
    body();
  } catch (const SystemError& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(2);
  }
  std::_Exit(0);
}

}  // namespace hotrow
