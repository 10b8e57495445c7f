#include "hotrow/data/parse.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>

namespace hotrow {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1}
                               << 40;  // a larger exponent than any record's digits can offset

std::string_view WithoutPlus(std::string_view text) {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return plus ? text.substr(1) : text;
}

// A number beyond a double's range: zero where it is too small, infinity where it is too large. Which, the
// decimal point's place tells: the first digit that is not 0 counts 10^place.
double OutOfRange(std::string_view text) {
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  std::string_view exponent_text = text.substr(std::min(e + 1, text.size()));
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  std::int64_t exponent = 0;
  const char* end = exponent_text.data() + exponent_text.size();
  if (std::from_chars(exponent_text.data(), end, exponent).ec == std::errc::result_out_of_range) {
    exponent = exponent_text.front() == '-' ? -kHuge : kHuge;
  }
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(std::min(digits.find_first_of("123456789"), digits.size()));
  const std::int64_t place = std::clamp(exponent, -kHuge, kHuge) + point - first;
  const double value = place < 0 ? 0.0 : std::numeric_limits<double>::infinity();
  return negative ? -value : value;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> ParseNumber(std::string_view text) {
  text = WithoutPlus(Trim(text));
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty()) return std::nullopt;
  if (status == std::errc::result_out_of_range) return OutOfRange(text);
  if (status != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  text = WithoutPlus(Trim(text));
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (stop != end || status != std::errc() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseIntegerModulo(std::string_view text, std::int64_t rows) {
  text = WithoutPlus(Trim(text));
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  const auto n = static_cast<unsigned __int128>(rows);
  unsigned __int128 remainder = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    remainder = (10 * remainder + static_cast<unsigned>(c - '0')) % n;
  }
  if (negative && remainder > 0) remainder = n - remainder;
  return static_cast<std::int64_t>(remainder);
}

std::optional<std::uint64_t> ParseHex(std::string_view text) {
  text = Trim(text);
  if (text.empty() || text.size() > 16) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value, 16);
  if (stop != end || status != std::errc()) return std::nullopt;
  return value;
}

}  // namespace hotrow
