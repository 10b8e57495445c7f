#pragma once
// Lists of names for error messages.

#include <cstddef>
#include <string>
#include <vector>

namespace hotrow {

/// "a, b, c"; "(none)" for an empty list.
inline std::string JoinNames(const std::vector<std::string>& names) {
  if (names.empty()) return "(none)";
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += ", ";
    text += names[i];
  }
  return text;
}

}  // namespace hotrow
