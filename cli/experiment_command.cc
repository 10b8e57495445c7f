// hotrow experiment: configurations of bench measured in turn, and what came of it written to the log.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/bench_flags.h"
#include "cli/cli11.h"
#include "cli/experiment_file.h"
#include "cli/numbers.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/measure/circumstances.h"
#include "hotrow/measure/experiment_report.h"
#include "hotrow/measure/experiment_result.h"
#include "hotrow/measure/experiment_run.h"

namespace hotrow::cli {
namespace {

constexpr const char* kDefaultLog = "docs/EXPERIMENT_LOG.md";

struct ExperimentFlags {
  CommonFlags common;  // of which --json and --quiet alone are offered
  std::string file;
  std::string log;  ///< empty: the default, which must exist
  std::int64_t rounds = 0;
  bool dry_run = false;
};

void AddFlags(CLI::App& app, ExperimentFlags& f) {
  app.add_option("file", f.file, "The experiment: a TOML file, see bench/experiments")->type_name("FILE");
  app.add_option("--log", f.log,
                 std::string("The log that the result is added to; made if it is not there (") + kDefaultLog +
                     ", which must be there)")
      ->type_name("FILE");
  app.add_option("--rounds", f.rounds, "How often each configuration runs; 0: what the file says")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000}))
      ->capture_default_str();
  app.add_flag("--dry-run", f.dry_run, "Print the commands of a round; run and write nothing");
  app.add_option("--json", f.common.json, "Write the result as JSON to FILE; - is stdout")->type_name("FILE");
  app.add_flag("--quiet", f.common.quiet, "No progress, no text result");
}

// What cannot be written is refused before minutes of measuring, not after.
std::string FindLog(const ExperimentFlags& flags) {
  const std::string log = flags.log.empty() ? kDefaultLog : flags.log;
  std::error_code ignored;
  const bool exists = std::filesystem::exists(log, ignored);
  if (flags.log.empty() && !exists) {
    Fail("{}: no such file here; go to the root of the source tree, or give --log FILE", log);
  }
  CheckTargets({{"--log", log}, JsonTarget(flags.common)}, {{"experiment", flags.file}});
  // It is read to its end, which a device or a pipe may not have.
  if (exists && !std::filesystem::is_regular_file(log, ignored)) Fail("--log {}: is not a file", log);
  if (exists && access(log.c_str(), R_OK) != 0) Fail("--log {}: cannot be read", log);
  return log;
}

// Throws Error naming the configuration when bench does not know a flag or refuses its value. Nothing runs.
void CheckBenchFlags(const Experiment& experiment) {
  for (const Configuration& configuration : experiment.configurations) {
    CLI::App app;
    BenchFlags flags;
    AddBenchFlags(app, flags);
    MakeValuesStrict(app);
    std::vector<std::string> words = configuration.Arguments();
    words.erase(words.begin());                // "bench"
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app.parse(std::move(words));
    } catch (const CLI::ParseError& e) {
      Fail("configuration \"{}\": {}", configuration.name, e.what());
    }
  }
}

int Run(const ExperimentFlags& flags) {
  if (flags.file.empty()) Fail("experiment: a TOML file is missing; examples are in bench/experiments");
  Experiment experiment = LoadExperiment(flags.file);
  if (flags.rounds > 0) experiment.rounds = flags.rounds;
  CheckBenchFlags(experiment);
  if (flags.dry_run) {
    std::string text;
    for (const Configuration& configuration : experiment.configurations) {
      text += (text.empty() ? "" : "\n") + configuration.CommandLine();
    }
    PrintResult(flags.common, text);
    return kDone;
  }
  const std::string log = FindLog(flags);
  InstallInterruptHandler();
  const ExperimentRuns runs =
      RunExperiment(experiment, OwnPath(), g_interrupted,
                    [&](const std::string& line) { PrintProgress(flags.common, line); });
  if (runs.interrupted) {
    PrintProgress(flags.common, "interrupted: nothing was written");
    return kInterrupted;
  }
  const std::vector<ConfigurationResult> results = Summarize(experiment, runs);
  const Circumstances circumstances = FindCircumstances(flags.file, flags.rounds);
  const std::string section = ExperimentSection(experiment, runs.metric, results, circumstances);
  AddToLog(log, section);
  PrintResult(flags.common, section);
  WriteJson(flags.common, ExperimentJson(experiment, runs.metric, results, circumstances));
  return kDone;
}

}  // namespace

Command AddExperimentCommand(CLI::App& root) {
  auto flags = std::make_shared<ExperimentFlags>();
  CLI::App* app =
      root.add_subcommand("experiment", "Measure configurations of bench in turn, and log what came of it");
  AddFlags(*app, *flags);
  return {app, [flags] { return Run(*flags); }};
}

}  // namespace hotrow::cli
