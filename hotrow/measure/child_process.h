#pragma once
// Another program, run to its end, which an interrupt of this one ends too.

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace hotrow {

struct ChildResult {
  bool interrupted = false;   ///< the flag was set, and the child was stopped
  int exit_code = 0;          ///< as a shell has it: 128 + the signal of a child that was killed
  std::optional<int> signal;  ///< that killed it
  std::string errors;         ///< what it wrote to stderr
};

/// Runs argv[0], found in PATH if it has no slash, in a process group of its own, with nothing on stdin, its
/// stdout thrown away, and `environment` ("NAME=value") added to this process's. Ends it when `interrupted`
/// is set: SIGTERM first, SIGKILL after two seconds; it ends as well when this process is killed. Throws
/// SystemError when no process can be made; a program that is not there ends with code 127 and says so
/// in `errors`.
ChildResult RunChild(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                     const std::string& scratch_directory, const std::atomic<bool>& interrupted);

}  // namespace hotrow
