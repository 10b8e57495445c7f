#pragma once
// What the commands of the program share: common flags, and how a command is registered and run.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hotrow/run/run_config.h"

namespace CLI {
class App;
}

namespace hotrow {
class MpiSession;
}

namespace hotrow::cli {

struct NamedFile;

/// hotrow/base/error.h says which failure is which; kInterrupted and kClosedPipe are 128 + the signal, as a
/// shell has it.
enum ExitCode { kDone = 0, kFailed = 1, kUserError = 2, kInterrupted = 130, kClosedPipe = 141 };

using CommonFlags = CommonConfig;

/// A command's App and what runs it: one of the two functions. Both return an ExitCode and throw
/// what hotrow/base/error.h has.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run = nullptr;  ///< in one process
  /// Over the processes that an MPI launcher started, each of which calls it, or in one: null.
  std::function<int(MpiSession*)> run_on_ranks = nullptr;
};

/// Gives those of the descriptors 0 to 2 that this process was started without something to be: a file opened
/// later would get their number, and what is printed. Before anything else.
void OccupyStandardStreams();
/// Text on stdout, or another stream; Flush when it is all there. Both throw ClosedPipe when nobody reads the
/// stream any more, SystemError when it cannot be written otherwise.
void Print(const std::string& text, std::FILE* stream = stdout);
void Flush(std::FILE* stream = stdout);
/// Where a command's text result goes: stdout, or stderr when --json - has taken stdout; nowhere under
/// --quiet.
void PrintResult(const CommonFlags& flags, const std::string& text);
/// A line of progress or log on stderr, unless --quiet. One that cannot be written is lost.
void PrintProgress(const CommonFlags& flags, const std::string& text);
/// Writes the result to --json FILE (beside, then renamed) or stdout, if asked for.
void WriteJson(const CommonFlags& flags, const nlohmann::ordered_json& json);
/// What --json will write, for CheckTargets.
NamedFile JsonTarget(const CommonFlags& flags);

/// Prints "error: …" to stderr, if that can be written, and returns the exit code: kUserError for an Error or
/// for lack of memory, kInterrupted for Interrupted, kClosedPipe, silently, for ClosedPipe, else kFailed.
int ReportFailure(std::exception_ptr failure);

/// Set by SIGINT, SIGTERM and, unless it is ignored, SIGHUP after InstallInterruptHandler; a second SIGINT or
/// SIGTERM ends the process at once. A command that installs it looks at the flag often (ThrowIfInterrupted).
extern std::atomic<bool> g_interrupted;
void InstallInterruptHandler();

Command AddBenchCommand(CLI::App& root);
Command AddDataCommand(CLI::App& root);
Command AddDoctorCommand(CLI::App& root);
Command AddEvalCommand(CLI::App& root);
Command AddExperimentCommand(CLI::App& root);
Command AddPlanCommand(CLI::App& root);
Command AddPredictCommand(CLI::App& root);
Command AddTrainCommand(CLI::App& root);

}  // namespace hotrow::cli
