#include "hotrow/base/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace hotrow {
namespace {

constexpr std::size_t kLongestMessage = 4000;
constexpr std::size_t kLongestQuote = 40;
constexpr const char* kCut = "…";

unsigned char Byte(char c) { return static_cast<unsigned char>(c); }

// Bytes of the printable UTF-8 character that the text starts with; 0 where there is none.
std::size_t CharacterLength(std::string_view text) {
  const unsigned char lead = Byte(text.front());
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  const std::string_view rest = text.substr(1, length - 1);
  if (!std::ranges::all_of(rest, [](char c) { return (Byte(c) & 0xc0) == 0x80; })) return 0;
  const unsigned char second = Byte(text[1]);
  const bool control = lead == 0xc2 && second < 0xa0;  // U+0080 to U+009F, which terminals may obey
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool no_character = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return control || overlong || no_character ? 0 : length;
}

void AppendEscaped(char c, std::string& out) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\x{:02x}", Byte(c));
  }
}

std::string Escaped(std::string_view text, std::size_t longest) {
  std::string out;
  std::size_t taken = 0;
  while (taken < text.size()) {
    const std::size_t length = CharacterLength(text.substr(taken));
    const std::size_t next = taken + std::max<std::size_t>(length, 1);
    if (next > longest) return out + kCut;
    if (length == 0) {
      AppendEscaped(text[taken], out);
    } else {
      out += text.substr(taken, length);
    }
    taken = next;
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, kLongestMessage); }

std::string Quoted(std::string_view text) { return fmt::format("'{}'", Escaped(text, kLongestQuote)); }

}  // namespace hotrow
