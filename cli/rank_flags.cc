#include "cli/rank_flags.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/cli11.h"
#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/plan/plan_file.h"
#include "hotrow/plan/plan_queries.h"
#include "hotrow/plan/units_of_ranks.h"
#include "hotrow/sharded/table_shapes.h"

namespace hotrow::cli {

void AddRankFlags(CLI::App& app, RankFlags& f) {
  app.add_option("--ranks", f.ranks, "Ranks, as threads of this process; under mpirun its processes are they")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1024}))
      ->capture_default_str();
  app.add_option("--sharding", f.sharding,
                 "column_wise, table_wise, row_wise, grid, data_parallel, auto, or a plan file")
      ->capture_default_str();
  app.add_option("--recat-mode", f.recat_mode,
                 "Who brings arrived ids into the lookup's order: none (it reads them as they arrived), "
                 "cpu, sc or tc")
      ->capture_default_str();
  app.add_option("--id-bytes", f.id_bytes,
                 "Bytes of an id on the wire: auto (4 where every table has fewer than 2^31 rows), 4 or 8")
      ->capture_default_str();
  app.add_option("--output-permute", f.output_permute,
                 "Who orders arrived pooled rows: none (they are written in place) or cpu (through a buffer)")
      ->capture_default_str();
  app.add_option("--pipeline", f.pipeline,
                 "on: the next batch's ids are exchanged during a step; off; changes no bit")
      ->capture_default_str();
  app.add_option("--verify-every", f.verify_every,
                 "Steps between checks that ranks hold the same parameters; 0: at the start only")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--profile-dir", f.profile_dir,
                 "Write every rank's spans to DIR/trace.json, for Perfetto or chrome://tracing")
      ->type_name("DIR");
}

NamedFile TraceTarget(const RankFlags& flags) {
  return {"--profile-dir", flags.profile_dir.empty() ? "" : flags.profile_dir + "/trace.json"};
}

bool ParseOnOff(const std::string& flag, const std::string& value) {
  if (value == "on") return true;
  if (value == "off") return false;
  Fail("{} {}: valid: on, off", flag, value);
}

bool Pipelined(const RankFlags& flags) { return ParseOnOff("--pipeline", flags.pipeline); }

DistOptions MakeDistOptions(const RankFlags& flags) {
  return {.recat = ParseRecatMode(flags.recat_mode),
          .id_bytes = ParseIdBytes(flags.id_bytes),
          .output_permute = ParseOutputPermute(flags.output_permute)};
}

int ThreadsOfRank(const CommonFlags& common, const Communicator& comm, const RanksOfHost& host) {
  const int threads = common.ThreadCount();
  if (comm.shares_memory()) {
    return static_cast<int>(std::max<std::int64_t>(1, EvenSlice(threads, comm.size(), comm.rank()).size()));
  }
  return common.threads > 0 ? threads : std::max(1, threads / host.count);
}

namespace {

std::string WhyNoPlanFile(const std::filesystem::file_status& file, const std::error_code& error) {
  if (file.type() == std::filesystem::file_type::not_found) return "there is no file of that name";
  if (std::filesystem::is_directory(file)) return "that is a directory";
  return error ? "that cannot be read: " + error.message() : "that is not a file";
}

ShardingPlan MakePlanOf(const std::string& sharding, std::span<const TableShape> model, std::int64_t world) {
  std::error_code error;
  const std::filesystem::file_status file = std::filesystem::status(sharding, error);
  if (!std::filesystem::is_regular_file(file)) {
    PlanKind kind;
    try {
      kind = ParsePlanKind(sharding);
    } catch (const Error& e) {
      Fail("--{}, or a plan file; {}", e.what(), WhyNoPlanFile(file, error));
    }
    return MakePlan(kind, model, world);
  }
  return PlanForModel(LoadPlan(sharding), model, world, sharding);
}

}  // namespace

void PlaceOnRanks(const RankFlags& flags, const ModelFlags& model_flags,
                  std::span<const double> ids_per_sample, const Communicator& comm, const RanksOfHost& host,
                  TrainerConfig& config) {
  const std::int64_t world = comm.size();
  const std::vector<TableShape> model =
      TableShapes(config.model.tables, config.model.features, ids_per_sample);
  config.plan = MakePlanOf(flags.sharding, model, world);
  config.dist = MakeDistOptions(flags);
  config.verify_every = flags.verify_every;
  config.reduction_units =
      model_flags.reduction_units != 0 ? model_flags.reduction_units : DefaultReductionUnits(world);
  ValidateReductionUnits(config.reduction_units, world);
  if (world == 1) return;
  // Which of the ranks are on this host is not said: as many of the largest may be.
  const RankBytes here = MostBytesOf(BytesPerRank(*config.plan, model), host.count);
  config.storage = ParseTableStorage(model_flags.tables, here.total());
  // Thread ranks add up what they need themselves; a process sees only its own part.
  if (comm.shares_memory()) return;
  const EmbeddingOptions options{.kernel = config.kernel, .storage = config.storage};
  CheckTableMemory(options, here.total(), here.weights);
}

}  // namespace hotrow::cli
