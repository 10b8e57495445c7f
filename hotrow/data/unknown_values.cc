#include "hotrow/data/unknown_values.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace hotrow {

std::string UnknownWarning(std::span<const UnknownValues> features) {
  std::string text;
  for (const UnknownValues& f : features) {
    if (f.share() < kManyUnknown) continue;
    text += fmt::format(
        "{}warning: feature '{}': {:.1f}% of its {} values are not in the vocabulary that training made, and "
        "share row 0",
        text.empty() ? "" : "\n", f.feature, 100 * f.share(), f.values);
  }
  return text;
}

nlohmann::ordered_json UnknownJson(std::span<const UnknownValues> features) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const UnknownValues& f : features) {
    json.push_back(
        {{"feature", f.feature}, {"values", f.values}, {"unknown", f.unknown}, {"share", f.share()}});
  }
  return json;
}

}  // namespace hotrow
