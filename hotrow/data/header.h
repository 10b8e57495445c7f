#pragma once
// The first record of a file, where it names the columns.

#include <string>
#include <vector>

#include "hotrow/data/record_reader.h"

namespace hotrow {

enum class Case { kKept, kLowered };

/// The reader's record as column names, without the blanks around them. Throws Error naming the column when
/// two have one name (which of them is meant?); columns without a name may be many.
std::vector<std::string> HeaderNames(const RecordReader& reader, Case letter_case);

}  // namespace hotrow
