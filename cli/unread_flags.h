#pragma once
// Flags that a command has and a run of it would not read: refused, since who gave them expects something of
// them.

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace hotrow::cli {

/// A flag and the runs that read it, for people: "--format synthetic".
struct FlagReader {
  std::string_view flag;
  std::string_view readers;
};

/// The flags of the command line. Those of the --config file are not among them: one file serves runs of many
/// kinds, and what one has no use for is passed over.
class GivenFlags {
 public:
  /// To be made before the --config file is applied.
  explicit GivenFlags(const CLI::App& command);

  /// Throws Error for the first of the flags that was given, saying that `run` does not read it and who does.
  void Refuse(std::string_view run, std::initializer_list<FlagReader> flags) const;

 private:
  std::set<std::string, std::less<>> names_;
};

}  // namespace hotrow::cli
