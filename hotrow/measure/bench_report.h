#pragma once
// Results of a benchmark as JSON and as text for people. Fields and names are those of `hotrow bench --json`;
// what was not measured is null or left out, never 0.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "hotrow/measure/alltoall_benchmark.h"
#include "hotrow/measure/check.h"
#include "hotrow/measure/gemm_benchmark.h"
#include "hotrow/measure/recat_benchmark.h"
#include "hotrow/measure/sparse_benchmark.h"
#include "hotrow/measure/step_benchmark.h"

namespace hotrow {

nlohmann::ordered_json ToJson(const StepResult& result);
nlohmann::ordered_json ToJson(const SparseResult& result);
nlohmann::ordered_json ToJson(const AllToAllResult& result);
nlohmann::ordered_json ToJson(const RecatResult& result);
nlohmann::ordered_json ToJson(const GemmResult& result);
/// Of a run that went no further: its check found a difference.
nlohmann::ordered_json ToJson(const BenchRun& run, const CheckResult& check);

/// Lines without a line break at the end. A result's check is not among them: it is told by itself, before.
std::string ToText(const StepResult& result);
std::string ToText(const SparseResult& result);
std::string ToText(const AllToAllResult& result);
std::string ToText(const RecatResult& result);
std::string ToText(const GemmResult& result);
std::string ToText(const CheckResult& check);

}  // namespace hotrow
