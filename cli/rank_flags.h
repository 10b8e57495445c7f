#pragma once
// Flags that say over which ranks a model is trained and how data moves between them, the same for `train`
// and `bench`.

#include <cstdint>
#include <span>
#include <string>

#include "cli/app.h"
#include "cli/model_flags.h"
#include "cli/run_ranks.h"
#include "cli/targets.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/data/batch.h"
#include "hotrow/train/trainer.h"

namespace CLI {
class App;
}

namespace hotrow::cli {

struct RankFlags {
  std::int64_t ranks = 1;  ///< under mpirun, the number of its processes once the world is known
  std::string sharding = "column_wise";
  std::string recat_mode = "none";
  std::string id_bytes = "auto";
  std::string output_permute = "none";
  std::string pipeline = "on";
  std::int64_t verify_every = 0;
  std::string profile_dir;
};

void AddRankFlags(CLI::App& app, RankFlags& flags);

/// What --profile-dir will write, for CheckTargets, which needs its directory: see MadeDirectory.
NamedFile TraceTarget(const RankFlags& flags);

/// Of a flag whose value is "on" or "off"; throws Error that lists them.
bool ParseOnOff(const std::string& flag, const std::string& value);
/// --pipeline.
bool Pipelined(const RankFlags& flags);
/// --recat-mode, --id-bytes and --output-permute.
DistOptions MakeDistOptions(const RankFlags& flags);

/// Compute threads of this rank: its share of --threads among the thread ranks of the process, at least one;
/// of an MPI process, all of --threads, or the cores over the ranks of the host.
int ThreadsOfRank(const CommonFlags& common, const Communicator& comm, const RanksOfHost& host);

/// Completes a configuration for this world: plan, dist options, reduction units (those of --reduction-units,
/// or as many as the ranks can share), --verify-every, and where tables are kept, by the bytes of this host's
/// ranks. `ids_per_sample` of each feature, or none, for plans that balance ids.
void PlaceOnRanks(const RankFlags& flags, const ModelFlags& model_flags,
                  std::span<const double> ids_per_sample, const Communicator& comm, const RanksOfHost& host,
                  TrainerConfig& config);

}  // namespace hotrow::cli
