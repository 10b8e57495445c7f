#pragma once
// What the reports of all parts of `hotrow bench` have in common, as JSON and as text.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/bench_check.h"
#include "cli/bench_flags.h"
#include "hotrow/base/thread_pool.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/trace/phase.h"
#include "hotrow/train/trainer.h"

namespace hotrow::cli {

/// Which run this is: the fields that every part's JSON begins with.
nlohmann::ordered_json BenchFields(const BenchFlags& flags, const SyntheticConfig& data,
                                   const ThreadPool& pool);
/// The same in three lines of text, made from those fields.
std::string BenchHeadline(const BenchFlags& flags, const nlohmann::ordered_json& json);

/// --check: prints the largest error, adds it to the JSON, and returns whether it is small enough.
bool ReportCheck(const BenchFlags& flags, const CheckResult& check, nlohmann::ordered_json& json);

/// weights_hash and state_hash; null for tables above kHashedBytes unless --hash.
void AddHashes(const BenchFlags& flags, Trainer& trainer, nlohmann::ordered_json& json);

/// Milliseconds a step of every phase, by name.
nlohmann::ordered_json PhasesJson(const PhaseTimes& phases, std::int64_t steps);

}  // namespace hotrow::cli
