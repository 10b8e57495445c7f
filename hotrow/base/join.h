#pragma once
// Lists of names for error messages.

#include <cstddef>
#include <string>
#include <vector>

namespace hotrow {

/// "a, b, c"; "(none)" for an empty list. Of a longer one, such as the columns of a file that is no table,
/// the first 100 and how many there are.
inline std::string JoinNames(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 100;
  if (names.empty()) return "(none)";
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size() && i < kMost; ++i) {
    text += ", ";
    text += names[i];
  }
  if (names.size() > kMost) text += ", … (" + std::to_string(names.size()) + " in all)";
  return text;
}

}  // namespace hotrow
