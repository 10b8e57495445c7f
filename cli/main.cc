// hotrow: the program. Commands are thin: flags in, a call into the library, a report out.

#include <csignal>
#include <exception>
#include <sstream>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/run_ranks.h"
#include "cli/usage.h"
#include "hotrow/base/error.h"
#include "hotrow/run/run_settings.h"

namespace {

using hotrow::MpiSession;
using hotrow::cli::Command;

int RunChosen(const CLI::App& root, const std::vector<Command>& commands, MpiSession* processes) {
  for (const Command& command : commands) {
    if (!root.got_subcommand(command.app)) continue;
    if (command.run_on_ranks) return command.run_on_ranks(processes);
    if (processes == nullptr) return command.run();
    hotrow::Fail("{}: runs in one process, the launcher started {}; valid over them: train, bench",
                 command.app->get_name(), processes->world().size());
  }
  return hotrow::cli::kUserError;  // unreachable: a subcommand is required
}

// `processes`: those of an MPI launcher, this one among them, or null.
int Main(int argc, char** argv, MpiSession* processes) {
  CLI::App root("Hotrow trains DLRM-class recommendation models and touches only the rows a batch touches.",
                "hotrow");
  root.set_version_flag("--version", HOTROW_VERSION);
  root.require_subcommand(1);
  hotrow::cli::SetHelpFormat(root);
  const std::vector<Command> commands = {
      hotrow::cli::AddTrainCommand(root),      hotrow::cli::AddEvalCommand(root),
      hotrow::cli::AddPredictCommand(root),    hotrow::cli::AddBenchCommand(root),
      hotrow::cli::AddDataCommand(root),       hotrow::cli::AddPlanCommand(root),
      hotrow::cli::AddExperimentCommand(root), hotrow::cli::AddDoctorCommand(root)};
  try {
    hotrow::cli::ParseCommandLine(root, argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    if (processes != nullptr) hotrow::CheckSameCommand(e.get_name(), processes->world());
    std::ostringstream text;
    root.exit(e, text);
    if (hotrow::cli::WritesResults(processes)) {
      hotrow::cli::Print(text.str());
      hotrow::cli::Flush();
    }
    return hotrow::cli::kDone;
  }
  return RunChosen(root, commands, processes);
}

}  // namespace

int main(int argc, char** argv) {
  hotrow::cli::OccupyStandardStreams();
  // A file that may not grow further, and a reader that is gone, are errors of the write: it names the file,
  // and what is half written is cleaned up.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  // Ranks are joined before anything can fail, so that what does is said once, whichever rank it happens on.
  if (const auto launch = hotrow::cli::LaunchOfThisProcess()) {
    return hotrow::cli::RunProcesses(*launch,
                                     [&](MpiSession& processes) { return Main(argc, argv, &processes); });
  }
  try {
    return Main(argc, argv, nullptr);
  } catch (...) {
    return hotrow::cli::ReportFailure(std::current_exception());
  }
}
