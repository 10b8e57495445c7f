#pragma once
// A click log with a planted signal: labels are drawn from a known model, so the best AUC anyone can reach on
// it is known, and training can be judged without real data.
//
// A sample has Criteo's shape: 13 integers (log-normal, some missing), 26 categoricals (Zipf). Its
// log-odds are
//   bias + [dense] linear in log(x + 3), one column also by its square
//        + [sparse] an effect of each id, normal, larger for small tables
//        + [pairs] for two pairs of features the product of two ids' factors
// with the parts' shares of the variance fixed and the whole scaled to a standard deviation that puts the
// ceiling near 0.81. What a model sees of a sample (CriteoEncoder: missing integers 0, missing categoricals
// row 0, hex modulo rows) is all that the log-odds depend on, as long as the reader's tables have at least
// the generator's rows.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/data/criteo_encoder.h"
#include "hotrow/data/zipf.h"

namespace hotrow {

struct PlantedConfig {
  std::uint64_t seed = 0;
  /// Ids of each of the 26 features, >= 1. Empty: the mlperf preset capped at 200, so that a few hundred
  /// thousand samples suffice to learn them, and any preset's tables can hold them.
  std::vector<std::int64_t> rows;
};

struct PlantedSample {
  std::array<std::int64_t, kCriteoDense> ints{};
  std::array<bool, kCriteoDense> missing_int{};
  std::array<std::int64_t, kCriteoSparse> ids{};
  std::array<bool, kCriteoSparse> blank_id{};  ///< id 0, written as an empty field
  double log_odds = 0.0;
  float label = 0.0F;
};

class PlantedModel {
 public:
  /// Throws Error unless there are 26 rows, all >= 1.
  explicit PlantedModel(PlantedConfig config);
  /// Sample i >= 0: a function of (seed, rows, i).
  PlantedSample Sample(std::int64_t i) const;

 private:
  double RawScore(const PlantedSample& sample) const;

  PlantedConfig config_;
  std::vector<ZipfRows> zipf_;
  std::vector<double> linear_;
  std::array<std::vector<double>, kCriteoSparse> effects_;
  std::array<std::vector<double>, kCriteoSparse> factors_;  // empty unless the feature is in a pair
  double mean_ = 0.0;                                       // of the raw score
  double scale_ = 1.0;
};

enum class PlantedLayout {
  kCriteo,  ///< tab-separated, no header
  kCsv,     ///< comma-separated, header label,I1..I13,C1..C26
};
/// Parses "criteo", "csv"; throws Error listing them.
PlantedLayout ParsePlantedLayout(const std::string& text);

struct PlantedReport {
  std::int64_t samples = 0;
  double label_rate = 0.0;
  double best_auc = 0.0;           ///< of the true probabilities against the drawn labels; NaN: all alike
  double expected_best_auc = 0.0;  ///< of the true probabilities, over all draws of labels
  double best_log_loss = 0.0;      ///< of the true probabilities against the drawn labels
};

/// Writes samples [first, first + samples) to `path`, whole or not at all. Takes 12 bytes of memory a sample,
/// 28 at the end. Throws Error when the machine has less, Interrupted once `interrupted` (may be null) is
/// set.
PlantedReport WritePlanted(const PlantedModel& model, std::int64_t first, std::int64_t samples,
                           PlantedLayout layout, const std::string& path,
                           const std::atomic<bool>* interrupted = nullptr);

}  // namespace hotrow
