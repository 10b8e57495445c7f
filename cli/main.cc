// hotrow: the program. Commands are thin: flags in, a call into the library, a report out.

#include <exception>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/numbers.h"

namespace {

using hotrow::cli::Command;

int RunChosen(const CLI::App& root, const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (root.got_subcommand(command.app)) return command.run();
  }
  return hotrow::cli::kUsersMistake;  // unreachable: a subcommand is required
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App root("Hotrow trains DLRM-class recommendation models and touches only the rows a batch touches.",
                "hotrow");
  root.set_version_flag("--version", HOTROW_VERSION);
  root.require_subcommand(1);
  const std::vector<Command> commands = {
      hotrow::cli::AddTrainCommand(root),      hotrow::cli::AddEvalCommand(root),
      hotrow::cli::AddPredictCommand(root),    hotrow::cli::AddBenchCommand(root),
      hotrow::cli::AddDataCommand(root),       hotrow::cli::AddPlanCommand(root),
      hotrow::cli::AddExperimentCommand(root), hotrow::cli::AddDoctorCommand(root)};
  hotrow::cli::MakeNumbersStrict(root);
  try {
    root.parse(argc, argv);
    return RunChosen(root, commands);
  } catch (const CLI::Success& e) {
    return root.exit(e);  // --help, --version
  } catch (...) {
    return hotrow::cli::ReportFailure(std::current_exception());
  }
}
