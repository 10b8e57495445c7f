#pragma once
// Runs the program as a user does.

#include <string>
#include <vector>

namespace hotrow {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs `hotrow ARGS…` (no shell) in a fresh, empty working directory that is removed afterwards, unless
/// `directory` names one.
ProgramResult RunHotrow(const std::vector<std::string>& args, const std::string& directory = "");
/// Another program, by its path, in a fresh directory.
ProgramResult RunProgram(const std::string& program, const std::vector<std::string>& args);
/// RunHotrow with stdout going to a file or device of that name, and so `out` empty.
ProgramResult RunHotrowInto(const std::string& standard_out, const std::vector<std::string>& args);
/// RunHotrow, sending it `signals` one after another as soon as it writes a file in `directory`, whether that
/// has a name yet or not.
ProgramResult RunAndSignal(const std::vector<std::string>& args, const std::string& directory,
                           const std::vector<int>& signals);

/// RunHotrow, and expects exit 2, nothing on stdout, and one line "error: …" with these parts on stderr.
void ExpectMistake(const std::vector<std::string>& args, const std::vector<std::string>& parts);
/// The same with exit 1: what was asked for was right, and failed.
void ExpectFailure(const std::vector<std::string>& args, const std::vector<std::string>& parts);

/// The bytes of a file.
std::string FileText(const std::string& path);

/// A directory of its own for one test, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& text) const;
  const std::string& path() const { return path_; }
  /// Names of the files in it, sorted.
  std::vector<std::string> List() const;

 private:
  std::string path_;
};

}  // namespace hotrow
