#pragma once
// Table sizes and multi-hot sizes that benchmarks agree on.
//
// "mlperf": the MLPerf DLRM-v2 reference (mlcommons/training, recommendation_v2). "canonical" and "shrunk":
// the torch_tpu DLRM-v2 benchmark. "tiny": mlperf with every table capped at 100,000 rows, for a laptop.

#include <cstdint>
#include <string>
#include <vector>

namespace hotrow {

/// Rows of the 26 tables of preset `name`: "tiny", "shrunk", "canonical" or "mlperf"; throws Error listing
/// them for another. `max_rows` > 0 caps every table.
std::vector<std::int64_t> CardinalityPreset(const std::string& name, std::int64_t max_rows = 0);

/// Either a preset's name, or a comma list of rows ("1000,20,3", each >= 1); both capped by `max_rows` > 0.
std::vector<std::int64_t> ParseRows(const std::string& text, std::int64_t max_rows = 0);

/// Ids a sample for each of `features` features: "mlperf" (26 features, sum 214), "one", or a comma list with
/// one size >= 0 a feature. Throws Error that says which is valid.
std::vector<std::int32_t> ParseMultiHot(const std::string& text, std::int64_t features);

/// "f0", "f1", …: the names of features that have none of their own.
std::vector<std::string> NumberedNames(const std::string& prefix, std::int64_t count);

}  // namespace hotrow
