#include "hotrow/data/presets.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {
namespace {

using Rows = std::vector<std::int64_t>;

constexpr std::int64_t kTinyCap = 100'000;

const Rows& MlperfRows() {
  static const Rows rows = {40000000, 39060,    17295,    7424,     20265,  3,     7122, 1543, 63,
                            40000000, 3067956,  405282,   10,       2209,   11938, 155,  4,    976,
                            14,       40000000, 40000000, 40000000, 590152, 12973, 108,  36};
  return rows;
}

const Rows& CanonicalRows() {
  static const Rows rows = {40000000, 39060192, 17295,    7424,     20265,  3,     7122, 1543, 63,
                            40000000, 3067956,  405282,   10,       2209,   11938, 155,  4,    976,
                            14,       39979771, 25641295, 39664984, 585935, 12972, 108,  36};
  return rows;
}

const Rows& ShrunkRows() {
  static const Rows rows = {4000000, 4000000, 17295,   7424,    20265,  3,     7122, 1543, 63,
                            4000000, 3067956, 405282,  10,      2209,   11938, 155,  4,    976,
                            14,      4000000, 4000000, 4000000, 585935, 12972, 108,  36};
  return rows;
}

const std::vector<std::int32_t>& MlperfMultiHot() {
  static const std::vector<std::int32_t> sizes = {3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                                  6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};
  return sizes;
}

Rows Capped(Rows rows, std::int64_t max_rows) {
  if (max_rows < 0) Fail("max rows: {} is negative", max_rows);
  if (max_rows > 0) {
    for (std::int64_t& n : rows) n = std::min(n, max_rows);
  }
  return rows;
}

// Comma list of integers in [least, most]; `what` names the option in errors.
std::vector<std::int64_t> ParseList(std::string_view text, const char* what, std::int64_t least,
                                    std::int64_t most, const char* otherwise) {
  std::vector<std::int64_t> list;
  const std::string_view whole = text;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view item = text.substr(0, comma);
    if (more) text.remove_prefix(comma + 1);
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (status != std::errc() || end != item.data() + item.size() || value < least || value > most) {
      Fail("{}: '{}' in '{}' is not an integer from {} up; valid are {} or a comma list", what, item, whole,
           least, otherwise);
    }
    list.push_back(value);
  }
  return list;
}

}  // namespace

std::vector<std::int64_t> CardinalityPreset(const std::string& name, std::int64_t max_rows) {
  if (name == "tiny") return Capped(Capped(MlperfRows(), kTinyCap), max_rows);
  if (name == "shrunk") return Capped(ShrunkRows(), max_rows);
  if (name == "canonical") return Capped(CanonicalRows(), max_rows);
  if (name == "mlperf") return Capped(MlperfRows(), max_rows);
  Fail("cardinality: '{}' is none of tiny, shrunk, canonical, mlperf", name);
}

std::vector<std::int64_t> ParseRows(const std::string& text, std::int64_t max_rows) {
  const bool list = !text.empty() && text.find_first_not_of("-0123456789,") == std::string::npos;
  if (!list) return CardinalityPreset(text, max_rows);
  return Capped(
      ParseList(text, "rows", 1, std::numeric_limits<std::int64_t>::max(), "tiny, shrunk, canonical, mlperf"),
      max_rows);
}

std::vector<std::int32_t> ParseMultiHot(const std::string& text, std::int64_t features) {
  if (text == "one") return std::vector<std::int32_t>(Index(features), 1);
  std::vector<std::int32_t> sizes;
  if (text == "mlperf") {
    sizes = MlperfMultiHot();
  } else {
    for (const std::int64_t size :
         ParseList(text, "multi-hot", 0, std::numeric_limits<std::int32_t>::max(), "mlperf, one")) {
      sizes.push_back(static_cast<std::int32_t>(size));
    }
  }
  if (static_cast<std::int64_t>(sizes.size()) != features) {
    Fail("multi-hot: '{}' has {} sizes, but there are {} features", text, sizes.size(), features);
  }
  return sizes;
}

std::vector<std::string> NumberedNames(const std::string& prefix, std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, i));
  return names;
}

}  // namespace hotrow
