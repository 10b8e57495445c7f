#pragma once
// Labels and samples' weights out of text fields.

#include <string_view>

#include "hotrow/data/record_reader.h"

namespace hotrow {

/// Field `column` of the record as 0 or 1 ("1", "1.0"); throws Error naming it otherwise.
float ParseLabel(const RecordReader& record, std::size_t column, std::string_view name);

/// Field `column` of the record as a finite number >= 0; throws Error naming it otherwise.
float ParseSampleWeight(const RecordReader& record, std::size_t column, std::string_view name);

}  // namespace hotrow
