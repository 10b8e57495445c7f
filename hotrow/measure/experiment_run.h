#pragma once
// Runs an experiment: every configuration once a round, in turn, each time in a process of its own, so that
// memory, caches of the allocator and tables are fresh.

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hotrow/measure/experiment.h"

namespace hotrow {

struct ExperimentRuns {
  bool interrupted = false;
  std::string metric;                                     ///< the one that was found
  std::vector<std::vector<nlohmann::ordered_json>> json;  ///< [configurations][rounds] what bench wrote
  std::vector<std::vector<double>> values;                ///< [configurations][rounds] of the metric
};

/// Runs `program`, this one's path, and calls progress(text) after every run. A child's failure is thrown
/// here, with the configuration's name: Error where it ended with 2, else SystemError. Throws Error
/// for a metric that bench does not give, or that is not above 0 in a baseline. The result's `interrupted` is
/// set when the flag was; nothing else is filled then.
ExperimentRuns RunExperiment(const Experiment& experiment, const std::string& program,
                             const std::atomic<bool>& interrupted,
                             const std::function<void(const std::string&)>& progress);

}  // namespace hotrow
