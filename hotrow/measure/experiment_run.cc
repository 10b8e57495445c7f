#include "hotrow/measure/experiment_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "hotrow/base/error.h"
#include "hotrow/measure/child_process.h"

namespace hotrow {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUserError = 2;  // what hotrow ends with for one
constexpr const char* kDefaultMetrics[] = {"ms_per_step.rank0_median", "step_ms", "ms"};

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotrow_experiment.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) FailErrno(errno, "{}: cannot make this directory", pattern);
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What mpirun refuses unless told otherwise: to run as root.
std::vector<std::string> MpiEnvironment() {
  if (geteuid() != 0) return {};
  return {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
}

std::optional<double> NumberAt(const Json& json, const std::string& path) {
  const Json* node = &json;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto found = node->is_object() ? node->find(path.substr(begin, end - begin)) : node->end();
    if (!node->is_object() || found == node->end()) return std::nullopt;
    node = &*found;
    begin = end + 1;
  }
  return node->is_number() ? std::optional(node->get<double>()) : std::nullopt;
}

void ListNumbers(const Json& json, const std::string& prefix, std::string& list) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_number()) list += (list.empty() ? "" : ", ") + prefix + key;
    if (value.is_object()) ListNumbers(value, prefix + key + ".", list);
  }
}

// The experiment's metric, or the first of the usual ones that this run has.
std::string FindMetric(const std::string& wanted, const Json& json, const std::string& configuration) {
  if (!wanted.empty() && NumberAt(json, wanted)) return wanted;
  if (wanted.empty()) {
    for (const char* metric : kDefaultMetrics) {
      if (NumberAt(json, metric)) return metric;
    }
  }
  std::string valid;
  ListNumbers(json, "", valid);
  Fail("metric {}: not in what configuration \"{}\" gives, valid: {}",
       wanted.empty() ? "(none given)" : wanted, configuration, valid);
}

// The child's own words: of several processes one has said "error: …", with mpirun's remarks around it.
std::string CauseOf(const ChildResult& child) {
  const std::string mark = "error: ";
  const std::size_t begin = child.errors.rfind(mark, 0) == 0 ? 0 : child.errors.find("\n" + mark);
  if (begin == std::string::npos) return child.errors.substr(0, child.errors.find_last_not_of(" \n") + 1);
  const std::size_t text = child.errors.find(mark, begin) + mark.size();
  return child.errors.substr(text, child.errors.find('\n', text) - text);
}

[[noreturn]] void FailLike(const ChildResult& child, const Configuration& configuration) {
  std::string text = fmt::format("configuration \"{}\": ", configuration.name);
  if (child.signal) {
    text += fmt::format("ended by signal {} ({}){}", *child.signal, strsignal(*child.signal),
                        *child.signal == SIGKILL ? ", perhaps for lack of memory" : "");
  } else {
    text += CauseOf(child);
  }
  if (child.exit_code == kUserError) throw Error(text);
  throw SystemError(text);
}

Json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

std::string ProgressLine(const Experiment& experiment, std::int64_t round, std::size_t c,
                         const ExperimentRuns& runs) {
  return fmt::format("round {}/{}, {}/{}: {}: {} {:.5g}", round + 1, experiment.rounds, c + 1,
                     experiment.configurations.size(), experiment.configurations[c].name, runs.metric,
                     runs.values[c].back());
}

void CheckBaselines(const Experiment& experiment, const ExperimentRuns& runs) {
  for (const Configuration& configuration : experiment.configurations) {
    for (const double value : runs.values[configuration.baseline]) {
      if (value > 0) continue;
      Fail("baseline \"{}\": {} is {}, and a ratio needs one above 0",
           experiment.configurations[configuration.baseline].name, runs.metric, value);
    }
  }
}

}  // namespace

ExperimentRuns RunExperiment(const Experiment& experiment, const std::string& program,
                             const std::atomic<bool>& interrupted,
                             const std::function<void(const std::string&)>& progress) {
  const ScratchDirectory scratch;
  const std::string result = scratch.path() + "/result.json";
  const std::size_t count = experiment.configurations.size();
  ExperimentRuns runs{.interrupted = false, .metric = "", .json = {}, .values = {}};
  runs.json.resize(count);
  runs.values.resize(count);
  for (std::int64_t round = 0; round < experiment.rounds; ++round) {
    for (std::size_t c = 0; c < count; ++c) {
      const Configuration& configuration = experiment.configurations[c];
      std::vector<std::string> words = configuration.Command(program);
      words.insert(words.end(), {"--quiet", "--json", result});
      std::filesystem::remove(result);
      const ChildResult child = RunChild(words, MpiEnvironment(), scratch.path(), interrupted);
      if (child.interrupted) return {.interrupted = true, .metric = "", .json = {}, .values = {}};
      if (child.exit_code != 0) FailLike(child, configuration);
      runs.json[c].push_back(ReadJson(result));
      runs.metric = FindMetric(runs.metric.empty() ? experiment.metric : runs.metric, runs.json[c].back(),
                               configuration.name);
      runs.values[c].push_back(*NumberAt(runs.json[c].back(), runs.metric));
      progress(ProgressLine(experiment, round, c, runs));
    }
  }
  CheckBaselines(experiment, runs);
  return runs;
}

}  // namespace hotrow
