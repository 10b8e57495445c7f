#include "hotrow/data/parse.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>

namespace hotrow {
namespace {

std::string_view WithoutPlus(std::string_view text) {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return plus ? text.substr(1) : text;
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
  if (status == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
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

std::optional<std::uint64_t> ParseHex(std::string_view text) {
  text = Trim(text);
  if (text.empty() || text.size() > 16) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value, 16);
  if (stop != end || status != std::errc()) return std::nullopt;
  return value;
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return text.size() <= kShown ? fmt::format("'{}'", text) : fmt::format("'{}…'", text.substr(0, kShown));
}

}  // namespace hotrow
