// hotrow experiment: configurations of bench measured in turn, and what came of it written to the log.

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/measure/circumstances.h"
#include "hotrow/measure/experiment_file.h"
#include "hotrow/measure/experiment_report.h"
#include "hotrow/measure/experiment_result.h"
#include "hotrow/measure/experiment_run.h"

namespace hotrow::cli {
namespace {

constexpr const char* kDefaultLog = "docs/EXPERIMENT_LOG.md";

// What cannot be written is refused before minutes of measuring, not after.
std::string FindLog(const RunConfig& run) {
  const std::string log = run.experiment.log.empty() ? kDefaultLog : run.experiment.log;
  std::error_code ignored;
  const bool exists = std::filesystem::exists(log, ignored);
  if (run.experiment.log.empty() && !exists) {
    Fail("{}: no such file here; go to the root of the source tree, or give --log FILE", log);
  }
  CheckTargets({{"--log", log}, JsonTarget(run.common)}, {{"experiment", run.experiment.file}});
  // It is read to its end, which a device or a pipe may not have.
  if (exists && !std::filesystem::is_regular_file(log, ignored)) Fail("--log {}: is not a file", log);
  if (exists && access(log.c_str(), R_OK) != 0) Fail("--log {}: cannot be read", log);
  return log;
}

int RunExperiment(const CLI::App& app) {
  const RunConfig run = ReadCommandLine(app, kExperiment).config;
  if (run.experiment.file.empty())
    Fail("experiment: a TOML file is missing; examples are in bench/experiments");
  Experiment experiment = LoadExperiment(run.experiment.file);
  if (run.experiment.rounds > 0) experiment.rounds = run.experiment.rounds;
  CheckBenchFlags(experiment);
  if (run.experiment.dry_run) {
    std::string text;
    for (const Configuration& configuration : experiment.configurations) {
      text += (text.empty() ? "" : "\n") + configuration.CommandLine();
    }
    PrintResult(run.common, text);
    return kDone;
  }
  const std::string log = FindLog(run);
  InstallInterruptHandler();
  const ExperimentRuns runs =
      RunExperiment(experiment, OwnPath(), g_interrupted,
                    [&](const std::string& line) { PrintProgress(run.common, line); });
  if (runs.interrupted) {
    PrintProgress(run.common, "interrupted: nothing was written");
    return kInterrupted;
  }
  const std::vector<ConfigurationResult> results = Summarize(experiment, runs);
  const Circumstances circumstances = FindCircumstances(run.experiment.file, run.experiment.rounds);
  const std::string section = ExperimentSection(experiment, runs.metric, results, circumstances);
  AddToLog(log, section);
  PrintResult(run.common, section);
  WriteJson(run.common, ExperimentJson(experiment, runs.metric, results, circumstances));
  return kDone;
}

}  // namespace

Command AddExperimentCommand(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("experiment", "Measure configurations of bench in turn, and log what came of it");
  AddSettings(*app, kExperiment);
  return {app, [app] { return RunExperiment(*app); }};
}

}  // namespace hotrow::cli
