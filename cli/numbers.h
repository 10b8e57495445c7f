#pragma once
// Values on the command line are what they should be, numbers decimal and in range, or are refused.

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hotrow::cli {

enum class ValueKind { kFlag, kInteger, kUnsigned, kNumber, kFile, kText };

/// What an option takes, as CLI11 names its type.
ValueKind KindOf(const CLI::Option& option);

/// Makes every option of the app and its subcommands strict, in whatever way the value comes (a flag, an item
/// of a list, the configuration file). CLI11 alone reads 0x10 and 010 in other bases, -1 as a large unsigned
/// number, and takes what overflows for the largest number. The name of a file is not empty, and neither is a
/// text without a default; a flag is given once. Call when all options are added.
void MakeValuesStrict(CLI::App& app);

}  // namespace hotrow::cli
