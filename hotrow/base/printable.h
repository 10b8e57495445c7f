#pragma once
// Text that came from outside (a field of a file, a name, a flag) made fit for an error message: one line
// that a terminal shows as it is.

#include <string>
#include <string_view>

namespace hotrow {

/// The text with control characters and bytes that are not UTF-8 written as \n, \t, \r or \xNN, and cut after
/// 4000 bytes.
std::string Printable(std::string_view text);

/// The text in quotes, made printable and cut after 40 bytes (never inside a character).
std::string Quoted(std::string_view text);

}  // namespace hotrow
