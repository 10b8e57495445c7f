#include "cli/experiment_report.h"

#include <fmt/core.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/experiment_run.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/cores.h"
#include "hotrow/machine/system.h"
#include "hotrow/trace/phase.h"

namespace hotrow::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGibibyte = 1 << 30;

// Four digits or so.
std::string Short(double value) {
  return value >= 1000  ? fmt::format("{:.0f}", value)
         : value >= 100 ? fmt::format("{:.1f}", value)
                        : fmt::format("{:.3g}", value);
}

// A text in one cell of a table, or in a heading.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

bool IsBaseline(const Experiment& experiment, std::size_t c) {
  return experiment.configurations[c].baseline == c;
}

std::string Row(const Experiment& experiment, std::size_t c, const ConfigurationResult& result) {
  const Configuration& configuration = experiment.configurations[c];
  const auto optional = [](const std::optional<double>& value, double unit) {
    return value ? Short(*value / unit) : "–";
  };
  std::string row = fmt::format(
      "| {} | {} ({} – {}) | {} | {} |", Cell(configuration.name), Short(result.median), Short(result.lowest),
      Short(result.highest), optional(result.samples_per_s, 1), optional(result.peak_rss_bytes, kGibibyte));
  if (IsBaseline(experiment, c)) {
    // Against itself it has no ratio; how far it is from itself in the next round is what others are judged
    // by.
    const std::string noise =
        result.ratio.noise ? fmt::format("{:.1f} % from round to round", 100 * *result.ratio.noise) : "–";
    return row + fmt::format(" – | {} | baseline | {} |\n", noise,
                             result.bits == Bits::kNotRepeatable ? ToString(result.bits) : "–");
  }
  const PairedRatio& ratio = result.ratio;
  return row + fmt::format(" {} | {:.3f} ({:.3f} – {:.3f}) | {} | {} |\n",
                           Cell(experiment.configurations[configuration.baseline].name), ratio.median,
                           ratio.lowest, ratio.highest, ToString(ratio.verdict), ToString(result.bits));
}

// Phases that took any time, in the order of a step.
std::string PhaseTable(const Experiment& experiment, const std::vector<ConfigurationResult>& results) {
  std::vector<std::string> phases;
  for (const std::string_view phase : kPhaseNames) {
    for (const ConfigurationResult& result : results) {
      const auto found = result.phases_ms.find(std::string(phase));
      if (found == result.phases_ms.end() || found->second == 0) continue;
      phases.emplace_back(phase);
      break;
    }
  }
  if (phases.empty()) return "";
  std::string table = "\nMilliseconds a step in each phase, medians of the rounds:\n\n| configuration |";
  std::string rule = "|---|";
  for (const std::string& phase : phases) {
    table += fmt::format(" {} |", phase);
    rule += "---|";
  }
  table += "\n" + rule + "\n";
  for (std::size_t c = 0; c < results.size(); ++c) {
    table += fmt::format("| {} |", Cell(experiment.configurations[c].name));
    for (const std::string& phase : phases) {
      const auto found = results[c].phases_ms.find(phase);
      table += fmt::format(" {} |", found == results[c].phases_ms.end() ? "–" : Short(found->second));
    }
    table += "\n";
  }
  return table;
}

std::string Commands(const Experiment& experiment) {
  std::string text = "\n```\n";
  for (const Configuration& configuration : experiment.configurations)
    text += CommandLineOf(configuration) + "\n";
  return text + "```\n";
}

}  // namespace

Circumstances FindCircumstances(const std::string& path, std::int64_t rounds) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return {.date = fmt::format("{:04}-{:02}-{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday),
          .command = "hotrow experiment " + ShellWord(path) +
                     (rounds > 0 ? fmt::format(" --rounds {}", rounds) : ""),
          .commit = FindSourceCommit(),
          .cpu = CpuName(),
          .cores = AvailableCores(),
          .memory_bytes = TotalMemory()};
}

std::string ExperimentSection(const Experiment& experiment, const std::string& metric,
                              const std::vector<ConfigurationResult>& results,
                              const Circumstances& circumstances) {
  std::string text = fmt::format("## {}: {}\n\n", circumstances.date, Cell(experiment.name));
  if (!experiment.question.empty()) text += Cell(experiment.question) + "\n\n";
  text += fmt::format(
      "Commit {}{}. {}, {} cores, {:.0f} GiB. `{}`: {} rounds, every configuration once a round, in "
      "turn, in a process of its own.\n\n",
      circumstances.commit.hash, circumstances.commit.local_changes ? " with local changes" : "",
      circumstances.cpu, circumstances.cores, GiB(circumstances.memory_bytes), circumstances.command,
      experiment.rounds);
  text += fmt::format(
      "| configuration | {} (lowest – highest) | samples/s | peak GiB | against | ratio (lowest – "
      "highest) | verdict | bits |\n|---|---|---|---|---|---|---|---|\n",
      metric);
  for (std::size_t c = 0; c < results.size(); ++c) text += Row(experiment, c, results[c]);
  text +=
      "\nFigures are medians of the rounds. A ratio is to the baseline's figure of the same round; "
      "lower or higher is said where every round agrees and the median is further from 1 than the "
      "baseline is from itself from one round to the next. Bits: losses and weights_hash against the "
      "baseline's.\n";
  return text + PhaseTable(experiment, results) + Commands(experiment);
}

Json ExperimentJson(const Experiment& experiment, const std::string& metric,
                    const std::vector<ConfigurationResult>& results, const Circumstances& circumstances) {
  Json configurations = Json::array();
  for (std::size_t c = 0; c < results.size(); ++c) {
    const Configuration& configuration = experiment.configurations[c];
    const ConfigurationResult& result = results[c];
    const PairedRatio& ratio = result.ratio;
    Json json = {{"name", configuration.name},
                 {"command", CommandLineOf(configuration)},
                 {"values", result.values},
                 {"median", result.median},
                 {"lowest", result.lowest},
                 {"highest", result.highest},
                 {"baseline", experiment.configurations[configuration.baseline].name},
                 {"is_baseline", IsBaseline(experiment, c)},
                 {"ratio",
                  {{"median", ratio.median},
                   {"lowest", ratio.lowest},
                   {"highest", ratio.highest},
                   {"values", ratio.ratios},
                   {"noise", ratio.noise ? Json(*ratio.noise) : Json(nullptr)}}},
                 {"verdict", IsBaseline(experiment, c) ? "baseline" : ToString(ratio.verdict)},
                 {"bits", result.bits == Bits::kUnknown ? Json(nullptr) : Json(ToString(result.bits))},
                 {"phases_ms", result.phases_ms}};
    if (result.samples_per_s) json["samples_per_s"] = *result.samples_per_s;
    if (result.peak_rss_bytes) json["peak_rss_bytes"] = *result.peak_rss_bytes;
    configurations.push_back(std::move(json));
  }
  return {{"command", "experiment"},
          {"version", HOTROW_VERSION},
          {"name", experiment.name},
          {"question", experiment.question},
          {"date", circumstances.date},
          {"commit", circumstances.commit.hash},
          {"local_changes", circumstances.commit.local_changes},
          {"cpu", circumstances.cpu},
          {"cores", circumstances.cores},
          {"memory_bytes", circumstances.memory_bytes},
          {"rounds", experiment.rounds},
          {"metric", metric},
          {"configurations", configurations}};
}

}  // namespace hotrow::cli
