#pragma once
// When, on what and with which source something was measured.

#include <cstdint>
#include <string>

namespace hotrow {

struct SourceCommit {
  std::string hash = "unknown";
  /// Tracked files outside docs/ differ from it: an experiment's own entry in the log changes nothing
  /// measured.
  bool local_changes = false;
};

/// Of the git working tree that this program stands in (its build folder is inside the tree), asked of `git`;
/// unknown where there is neither.
SourceCommit FindSourceCommit();

/// The path of this program.
std::string OwnPath();

struct Circumstances {
  std::string date;     ///< YYYY-MM-DD, here
  std::string command;  ///< as a shell reads it
  SourceCommit commit;
  std::string cpu;
  int cores = 0;
  std::int64_t memory_bytes = 0;
};
/// Of this moment, process and machine, for `hotrow experiment` with the file at `path` and, unless it is 0,
/// with `--rounds`.
Circumstances FindCircumstances(const std::string& path, std::int64_t rounds);

}  // namespace hotrow
