#pragma once
// How many values of a data set training has not seen: they all share row 0, and a model says little of them.

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace hotrow {

/// Of a feature that has a vocabulary.
struct UnknownValues {
  std::string feature;
  std::int64_t values = 0;
  std::int64_t unknown = 0;  ///< of them, not in the vocabulary

  double share() const { return values > 0 ? static_cast<double>(unknown) / static_cast<double>(values) : 0; }
};

/// From this share on, data are likely another file's than the model's, or written another way.
inline constexpr double kManyUnknown = 0.2;

/// A line for each feature with kManyUnknown or more, or "".
std::string UnknownWarning(std::span<const UnknownValues> features);
/// [{"feature", "values", "unknown", "share"}, …]
nlohmann::ordered_json UnknownJson(std::span<const UnknownValues> features);

/// Counts of a source's features: one thread adds, any may read meanwhile.
class UnknownCounter {
 public:
  explicit UnknownCounter(std::size_t features)
      : features_(features), counts_(std::make_unique<Count[]>(features)) {}

  void Add(std::size_t feature, bool unknown) {
    Increase(counts_[feature].values);
    if (unknown) Increase(counts_[feature].unknown);
  }
  void Clear() {
    for (std::size_t f = 0; f < features_; ++f) {
      counts_[f].values.store(0, std::memory_order_relaxed);
      counts_[f].unknown.store(0, std::memory_order_relaxed);
    }
  }
  UnknownValues Get(std::size_t feature, const std::string& name) const {
    const Count& count = counts_[feature];
    return {name, count.values.load(std::memory_order_relaxed),
            count.unknown.load(std::memory_order_relaxed)};
  }

 private:
  using Number = std::atomic<std::int64_t>;
  // There is one writer: no need of an atomic addition, which would lock the bus for every value.
  static void Increase(Number& number) {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  struct Count {
    Number values = 0;
    Number unknown = 0;
  };
  std::size_t features_;
  std::unique_ptr<Count[]> counts_;
};

}  // namespace hotrow
