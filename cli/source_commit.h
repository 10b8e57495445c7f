#pragma once
// Which source a measurement belongs to.

#include <string>

namespace hotrow::cli {

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

/// A word as a POSIX shell reads it back.
std::string ShellWord(const std::string& word);

}  // namespace hotrow::cli
