#pragma once
// Numbers out of text fields. All take the whole field, blanks around it allowed; nullopt where it is not
// that.

#include <cstdint>
#include <optional>
#include <string_view>

namespace hotrow {

/// Without the spaces and tabs around it.
std::string_view Trim(std::string_view text);

/// Decimal number, perhaps with exponent; also "inf" and "nan", which the caller judges. Beyond a double's
/// range: infinity where it is too large, zero where it is too small.
std::optional<double> ParseNumber(std::string_view text);

/// Decimal integer within 64 bits.
std::optional<std::int64_t> ParseInteger(std::string_view text);

/// A decimal integer of any length, modulo `rows` >= 1: in [0, rows), of negative numbers too.
std::optional<std::int64_t> ParseIntegerModulo(std::string_view text, std::int64_t rows);

/// 1 to 16 hexadecimal digits, no prefix.
std::optional<std::uint64_t> ParseHex(std::string_view text);

}  // namespace hotrow
