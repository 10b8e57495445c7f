#include "hotrow/data/labels.h"

#include <cmath>
#include <optional>

#include "hotrow/base/printable.h"
#include "hotrow/data/parse.h"

namespace hotrow {

float ParseLabel(const RecordReader& record, std::size_t column, std::string_view name) {
  const std::string_view field = record.fields()[column];
  const std::optional<double> value = ParseNumber(field);
  if (!value || (*value != 0.0 && *value != 1.0)) {
    record.FailAt(column, name, Quoted(field) + " is not a label; labels are 0 or 1");
  }
  return static_cast<float>(*value);
}

float ParseSampleWeight(const RecordReader& record, std::size_t column, std::string_view name) {
  const std::string_view field = record.fields()[column];
  const std::optional<double> value = ParseNumber(field);
  const auto weight = static_cast<float>(value.value_or(0.0));
  if (!value || !(*value >= 0.0) || !std::isfinite(weight)) {
    record.FailAt(column, name,
                  Quoted(field) + " is not a sample's weight; weights are numbers of at least 0");
  }
  return weight;
}

}  // namespace hotrow
