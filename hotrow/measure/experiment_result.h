#pragma once
// What an experiment's runs say: figures, ratios and verdicts of every configuration.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hotrow/measure/experiment.h"
#include "hotrow/measure/experiment_run.h"
#include "hotrow/measure/paired_ratio.h"

namespace hotrow {

/// How a configuration's losses and weights compare with its baseline's.
enum class Bits {
  kUnknown,     ///< bench gave none
  kSame,        ///< every loss and weights_hash
  kSameLosses,  ///< every loss; the tables were too large for a hash
  kOther,
  kNotRepeatable,  ///< its own rounds differ
};
std::string ToString(Bits bits);

struct ConfigurationResult {
  std::vector<double> values;  ///< [rounds] of the metric
  double median = 0;
  double lowest = 0;
  double highest = 0;
  PairedRatio ratio;  ///< to the baseline's value of the same round
  Bits bits = Bits::kUnknown;
  std::map<std::string, double> phases_ms;  ///< medians over rounds
  std::optional<double> samples_per_s;      ///< median
  std::optional<double> peak_rss_bytes;     ///< median
};

/// One for each configuration, in order.
std::vector<ConfigurationResult> Summarize(const Experiment& experiment, const ExperimentRuns& runs);

}  // namespace hotrow
