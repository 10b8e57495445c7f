// hotrow bench: which part is measured.

#include <CLI/App.hpp>
#include <memory>

#include "cli/app.h"
#include "cli/bench_flags.h"
#include "cli/bench_parts.h"
#include "cli/config_file.h"
#include "cli/run_ranks.h"
#include "hotrow/base/error.h"
#include "hotrow/dist/options.h"

namespace hotrow::cli {
namespace {

// What an MPI launcher has started several times over, to run on one rank each time.
void RefuseWorld() {
  const auto launch = LaunchOfThisProcess();
  if (!launch || launch->size == 1) return;
  Fail("--part: {} started {} processes, and of the parts alltoall alone runs over them", launch->launcher,
       launch->size);
}

// Flags of the parts that move data between ranks, given to one that does not.
void RefuseRanks(const BenchFlags& flags) {
  if (flags.ranks > 1) {
    Fail("--ranks {}: --part {} runs on one rank, valid with more: recat, alltoall", flags.ranks, flags.part);
  }
  if (ParseRecatMode(flags.recat_mode) != RecatMode::kNone) {
    Fail("--recat-mode {}: --part {} runs on one rank and moves no ids, valid with recat", flags.recat_mode,
         flags.part);
  }
  if (ParseIdBytes(flags.id_bytes) != IdBytes::kAuto) {
    Fail("--id-bytes {}: --part {} runs on one rank and moves no ids, valid with recat and alltoall",
         flags.id_bytes, flags.part);
  }
}

int Run(BenchFlags& flags, CLI::App& app) {
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  CheckJsonTarget(flags.common);
  if (flags.ranks % flags.ranks_per_chip != 0) {
    Fail("--ranks-per-chip {}: does not divide the {} ranks of this run", flags.ranks_per_chip, flags.ranks);
  }
  if (flags.part == "alltoall") return BenchAllToAll(flags);
  RefuseWorld();
  ThreadPool pool(flags.common.ThreadCount());
  if (flags.part == "recat") return BenchRecat(flags, pool);
  RefuseRanks(flags);
  if (flags.part == "step") return BenchStep(flags, pool);
  if (flags.part == "sparse") return BenchSparse(flags, pool);
  if (flags.part == "gemm") return BenchGemm(flags, pool);
  Fail("--part {}: valid: step, sparse, recat, alltoall, gemm", flags.part);
}

}  // namespace

Command AddBenchCommand(CLI::App& root) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = root.add_subcommand("bench", "Steady-state speed, with the machine's limit beside it");
  AddBenchFlags(*app, *flags);
  return {app, [flags, app] { return Run(*flags, *app); }};
}

}  // namespace hotrow::cli
