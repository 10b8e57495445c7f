#pragma once
// An encoder as a file holds it.

#include <map>
#include <string>
#include <vector>

namespace hotrow {

/// Texts of rows 1, 2, …, by the name of the feature (of several that share a table, the first).
using Vocabularies = std::map<std::string, std::vector<std::string>>;

struct EncoderText {
  std::string json;
  Vocabularies vocabularies = {};  ///< those that are too large to stand in the JSON
};

}  // namespace hotrow
