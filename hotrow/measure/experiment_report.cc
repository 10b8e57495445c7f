#include "hotrow/measure/experiment_report.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/files/text_writer.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
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
    text += configuration.CommandLine() + "\n";
  return text + "```\n";
}

std::string ReadLog(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "# Experiment log\n";
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) Fail("--log {}: cannot be read", path);
  return text;
}

// Whether a heading "## YYYY-MM-DD" begins here.
bool IsDatedHeading(std::string_view text) {
  constexpr std::string_view kForm = "## dddd-dd-dd";
  if (text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
    if (!fits) return false;
  }
  return true;
}

// Where the newest section begins; npos: there is none.
std::size_t FindNewest(std::string_view text) {
  for (std::size_t line = 0; line < text.size();) {
    if (IsDatedHeading(text.substr(line))) return line;
    const std::size_t end = text.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::string_view::npos;
}

}  // namespace

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
                 {"command", configuration.CommandLine()},
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

void AddToLog(const std::string& path, const std::string& section) {
  std::string text = ReadLog(path);
  const std::size_t newest = FindNewest(text);
  if (newest != std::string_view::npos) {
    text.insert(newest, section + "\n");
  } else {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text += "\n\n" + section;
  }
  TextWriter file(path);
  file.Print("{}", text);
  file.Finish();
}

}  // namespace hotrow
