#pragma once
// An experiment's result as JSON, and as a section of the log: a Markdown file of dated sections, newest
// first.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hotrow/measure/circumstances.h"
#include "hotrow/measure/experiment.h"
#include "hotrow/measure/experiment_result.h"

namespace hotrow {

/// Markdown that begins with "## DATE: " and ends with a line break.
std::string ExperimentSection(const Experiment& experiment, const std::string& metric,
                              const std::vector<ConfigurationResult>& results,
                              const Circumstances& circumstances);

nlohmann::ordered_json ExperimentJson(const Experiment& experiment, const std::string& metric,
                                      const std::vector<ConfigurationResult>& results,
                                      const Circumstances& circumstances);

/// Puts `section` before the first heading "## YYYY-MM-DD…" of the file, at its end where there is none;
/// makes a file that is not there. The new file is written beside the old one and renamed. Throws Error when
/// it cannot.
void AddToLog(const std::string& path, const std::string& section);

}  // namespace hotrow
