#pragma once
// Runs an experiment: every configuration once a round, in turn, each time in a process of its own, so that
// memory, caches of the allocator and tables are fresh.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/experiment_file.h"

namespace hotrow::cli {

struct ExperimentRuns {
  bool interrupted = false;
  std::string metric;                                     ///< the one that was found
  std::vector<std::vector<nlohmann::ordered_json>> json;  ///< [configurations][rounds] what bench wrote
  std::vector<std::vector<double>> values;                ///< [configurations][rounds] of the metric
};

/// The command of a configuration, for this program at `program`: mpirun in front where it is wanted.
std::vector<std::string> CommandOf(const Configuration& configuration, const std::string& program);
/// The same as a line that a shell reads.
std::string CommandLineOf(const Configuration& configuration);

/// Throws Error naming the configuration when bench does not know a flag or refuses its value. Cheap: nothing
/// runs.
void CheckFlags(const Experiment& experiment);

/// progress(text) after every run. A child's failure is thrown here, with the configuration's name: Error
/// where it ended with 2, else SystemError. Throws Error for a metric that bench does not give, or
/// that is not above 0 in a baseline. `interrupted` is set when g_interrupted was; nothing else is filled
/// then.
ExperimentRuns RunExperiment(const Experiment& experiment,
                             const std::function<void(const std::string&)>& progress);

}  // namespace hotrow::cli
