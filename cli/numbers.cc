#include "cli/numbers.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "cli/cli11.h"
#include "hotrow/base/printable.h"
#include "hotrow/data/parse.h"

namespace hotrow::cli {
namespace {

// The integer in CLI11's own spelling, or an error.
template <typename T>
std::string CheckInteger(std::string& text) {
  const std::size_t sign = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || text.find_first_not_of("0123456789", sign) != std::string::npos) {
    return Quoted(text) + " is not a decimal integer";
  }
  T value = 0;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  if (std::from_chars(begin, text.data() + text.size(), value).ec != std::errc()) {
    return fmt::format("{} is out of range; valid are integers from {} to {}", Quoted(text),
                       std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  text = fmt::format("{}", value);
  return {};
}

std::string CheckNumber(std::string& text) {
  const std::optional<double> value = ParseNumber(text);
  if (!value) return Quoted(text) + " is not a decimal number";
  if (!std::isfinite(*value)) return Quoted(text) + " is not a finite number";
  text = fmt::format("{}", *value);
  return {};
}

// Of a flag that is off where its text is empty: a script's variable that is not set must not mean that.
std::string CheckNotEmpty(std::string& text) { return text.empty() ? "is empty" : ""; }
std::string CheckNamesAFile(std::string& text) { return text.empty() ? "the name of a file is empty" : ""; }

}  // namespace

ValueKind KindOf(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return ValueKind::kFlag;
  const std::string type = option.get_type_name();
  if (type.starts_with("UINT")) return ValueKind::kUnsigned;
  if (type.starts_with("INT")) return ValueKind::kInteger;
  if (type.starts_with("FLOAT")) return ValueKind::kNumber;
  return type.starts_with("FILE") ? ValueKind::kFile : ValueKind::kText;
}

void MakeValuesStrict(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const auto add = [&](auto check) { option->transform(CLI::Validator(check, "")); };
    switch (KindOf(*option)) {
      case ValueKind::kInteger:
        add(CheckInteger<std::int64_t>);
        break;
      case ValueKind::kUnsigned:
        add(CheckInteger<std::uint64_t>);
        break;
      case ValueKind::kNumber:
        add(CheckNumber);
        break;
      case ValueKind::kFile:
        add(CheckNamesAFile);
        break;
      case ValueKind::kText:
        if (option->get_default_str().empty()) add(CheckNotEmpty);
        break;
      case ValueKind::kFlag:
        // Twice, and so perhaps in contradiction, is as wrong as it is for a value.
        option->multi_option_policy(CLI::MultiOptionPolicy::Throw);
        break;
    }
  }
  for (CLI::App* command : app.get_subcommands({})) MakeValuesStrict(*command);
}

}  // namespace hotrow::cli
