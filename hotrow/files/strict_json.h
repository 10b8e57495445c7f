#pragma once
// JSON that somebody else wrote, such as a plan or a model's header.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hotrow {

/// Parses `text`, and refuses what the parser by itself would let pass: a key that is twice in one object
/// (the last would win unseen), more than `max_depth` arrays and objects inside one another, a zero byte (the
/// parser ends there). Throws Error that starts with `where`. O(size of the text).
nlohmann::json ParseStrictJson(const std::string& text, int max_depth, const std::string& where);

}  // namespace hotrow
