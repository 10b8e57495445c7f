#pragma once
// What the reports of all parts of `hotrow bench` have in common, as JSON and as text.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/bench_check.h"
#include "cli/bench_flags.h"
#include "cli/run_ranks.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/trace/phase.h"
#include "hotrow/trace/phase_bytes.h"
#include "hotrow/train/trainer.h"

namespace hotrow::cli {

/// Which run this is: the fields that every part's JSON begins with. `threads`: of the whole process.
nlohmann::ordered_json BenchFields(const BenchFlags& flags, const SyntheticConfig& data, int threads);
/// Takes out the fields that say nothing about a part without tables or tower.
void DropModelFields(nlohmann::ordered_json& json);
/// The same in three lines of text, made from those fields.
std::string BenchHeadline(const BenchFlags& flags, const nlohmann::ordered_json& json);

/// What rank 0 tells of the steps that are over (bench_progress.h); nothing on the other ranks. `flags` must
/// outlive it.
std::function<void(std::int64_t)> ProgressOf(const BenchFlags& flags, const Communicator& comm);

/// Bytes over seconds in GB/s; 0 where no time was taken.
double GigabytesPerSecond(std::int64_t bytes, double seconds);

/// --check: prints the largest error, adds it to the JSON, and returns whether it is small enough.
bool ReportCheck(const BenchFlags& flags, const CheckResult& check, nlohmann::ordered_json& json);

/// weights_hash and state_hash; null for tables above kHashedBytes unless --hash.
void AddHashes(const BenchFlags& flags, Trainer& trainer, nlohmann::ordered_json& json);

/// Milliseconds a step of every phase, by name: what a rank spends in it, waiting for others included.
nlohmann::ordered_json PhasesJson(const PhaseTimes& phases, std::int64_t steps);
/// Of the phases that move data, the part that stands in the step's way: less what a rank's thread spent in
/// them while its other threads worked on another phase. What the network or a peer moves by itself is in no
/// phase's time to begin with.
nlohmann::ordered_json ExposedJson(const PhaseTimes& phases, std::int64_t steps);
/// Bytes a step of every phase that moved any, by name.
nlohmann::ordered_json BytesJson(const PhaseBytes& bytes, std::int64_t steps);

/// Both as lines of text, from the JSON's phases_ms and bytes: phases that took any time.
std::string PhaseLines(const nlohmann::ordered_json& json);

/// The configuration that the flags describe, placed on this world.
TrainerConfig MakeBenchConfig(const BenchFlags& flags, const SyntheticConfig& data, const Communicator& comm,
                              const RanksOfHost& host);

/// Collective: whole rows a second that all ranks together read, and update, each from its own shards
/// (measure/row_limits.h), as the JSON's limits. Where a row is cut by columns it takes several ranks' parts.
nlohmann::ordered_json RowLimitsJson(const ShardedEmbeddingBagCollection& embeddings, Communicator& comm,
                                     ThreadPool& pool);

}  // namespace hotrow::cli
