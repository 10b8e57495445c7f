#include "hotrow/data/header.h"

#include <fmt/core.h>

#include <cctype>
#include <map>

#include "hotrow/data/parse.h"

namespace hotrow {

std::vector<std::string> HeaderNames(const RecordReader& reader, Case letter_case) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> columns;
  for (const std::string_view field : reader.fields()) {
    std::string name(Trim(field));
    if (letter_case == Case::kLowered) {
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const auto [first, fresh] = columns.emplace(name, names.size());
    if (!fresh && !name.empty()) {
      reader.FailAt(names.size(), name, fmt::format("column {} has this name already", first->second + 1));
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace hotrow
