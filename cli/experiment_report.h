#pragma once
// An experiment's result as a section of the log, and as JSON.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/experiment_file.h"
#include "cli/experiment_result.h"
#include "cli/source_commit.h"

namespace hotrow::cli {

/// When, on what and with which source it was measured.
struct Circumstances {
  std::string date;     ///< YYYY-MM-DD, here
  std::string command;  ///< as a shell reads it
  SourceCommit commit;
  std::string cpu;
  int cores = 0;
  std::int64_t memory_bytes = 0;
};
/// Of this moment, process and machine, for `hotrow experiment` with the file at `path` and, unless it is 0,
/// with `--rounds`.
Circumstances FindCircumstances(const std::string& path, std::int64_t rounds);

/// Markdown that begins with "## DATE: " and ends with a line break.
std::string ExperimentSection(const Experiment& experiment, const std::string& metric,
                              const std::vector<ConfigurationResult>& results,
                              const Circumstances& circumstances);

nlohmann::ordered_json ExperimentJson(const Experiment& experiment, const std::string& metric,
                                      const std::vector<ConfigurationResult>& results,
                                      const Circumstances& circumstances);

}  // namespace hotrow::cli
