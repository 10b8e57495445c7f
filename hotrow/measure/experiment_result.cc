#include "hotrow/measure/experiment_result.h"

#include <algorithm>

#include "hotrow/measure/statistics.h"

namespace hotrow {
namespace {

using Json = nlohmann::ordered_json;

Json LossesOf(const Json& run) { return run.contains("losses") ? run["losses"] : Json(nullptr); }
Json HashOf(const Json& run) { return run.contains("weights_hash") ? run["weights_hash"] : Json(nullptr); }

bool SameBits(const Json& a, const Json& b) { return LossesOf(a) == LossesOf(b) && HashOf(a) == HashOf(b); }

Bits CompareBits(const std::vector<Json>& runs, const std::vector<Json>& baseline) {
  if (LossesOf(runs[0]).is_null() || LossesOf(baseline[0]).is_null()) return Bits::kUnknown;
  for (const Json& run : runs) {
    if (!SameBits(run, runs[0])) return Bits::kNotRepeatable;
  }
  if (!SameBits(runs[0], baseline[0])) return Bits::kOther;
  return HashOf(runs[0]).is_null() ? Bits::kSameLosses : Bits::kSame;
}

std::optional<double> MedianOf(const std::vector<Json>& runs, const std::string& key) {
  std::vector<double> values;
  for (const Json& run : runs) {
    if (run.contains(key) && run[key].is_number()) values.push_back(run[key].get<double>());
  }
  return values.empty() ? std::nullopt : std::optional(Median(values));
}

std::map<std::string, double> Phases(const std::vector<Json>& runs) {
  std::map<std::string, std::vector<double>> values;
  for (const Json& run : runs) {
    if (!run.contains("phases_ms")) continue;
    for (const auto& [phase, ms] : run["phases_ms"].items()) values[phase].push_back(ms.get<double>());
  }
  std::map<std::string, double> medians;
  for (const auto& [phase, ms] : values) medians[phase] = Median(ms);
  return medians;
}

}  // namespace

std::string ToString(Bits bits) {
  switch (bits) {
    case Bits::kUnknown:
      return "–";
    case Bits::kSame:
      return "same bits";
    case Bits::kSameLosses:
      return "same losses";
    case Bits::kOther:
      return "other bits";
    case Bits::kNotRepeatable:
      return "not repeatable";
  }
  return "";
}

std::vector<ConfigurationResult> Summarize(const Experiment& experiment, const ExperimentRuns& runs) {
  std::vector<ConfigurationResult> results;
  for (std::size_t c = 0; c < experiment.configurations.size(); ++c) {
    const std::size_t baseline = experiment.configurations[c].baseline;
    const std::vector<double>& values = runs.values[c];
    results.push_back({.values = values,
                       .median = Median(values),
                       .lowest = *std::min_element(values.begin(), values.end()),
                       .highest = *std::max_element(values.begin(), values.end()),
                       .ratio = CompareRounds(values, runs.values[baseline]),
                       .bits = CompareBits(runs.json[c], runs.json[baseline]),
                       .phases_ms = Phases(runs.json[c]),
                       .samples_per_s = MedianOf(runs.json[c], "samples_per_s"),
                       .peak_rss_bytes = MedianOf(runs.json[c], "peak_rss_bytes")});
  }
  return results;
}

}  // namespace hotrow
