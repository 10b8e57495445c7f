// hotrow bench: which part is measured.

#include <memory>

#include "cli/app.h"
#include "cli/bench_flags.h"
#include "cli/bench_parts.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/run_ranks.h"
#include "hotrow/base/error.h"

namespace hotrow::cli {
namespace {

// What an MPI launcher has started several times over, to run on one rank each time.
void RefuseWorld(const BenchFlags& flags) {
  const auto launch = LaunchOfThisProcess();
  if (!launch || launch->size == 1) return;
  Fail("--part {}: {} started {} processes, and it runs in one; valid over them: step, sparse, alltoall",
       flags.part, launch->launcher, launch->size);
}

void CheckRanksPerChip(const BenchFlags& flags) {
  const auto launch = LaunchOfThisProcess();
  const std::int64_t ranks = launch ? launch->size : flags.over.ranks;
  if (ranks % flags.ranks_per_chip == 0) return;
  Fail("--ranks-per-chip {}: does not divide the {} ranks of this run", flags.ranks_per_chip, ranks);
}

int RunAlone(BenchFlags& flags) {
  RefuseWorld(flags);
  ThreadPool pool(flags.common.ThreadCount());
  if (flags.part == "recat") return BenchRecat(flags, pool);
  if (flags.over.ranks > 1) {
    Fail("--ranks {}: --part gemm runs on one rank, valid with more: step, sparse, recat, alltoall",
         flags.over.ranks);
  }
  return BenchGemm(flags, pool);
}

int Run(BenchFlags& flags, CLI::App& app) {
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  CheckJsonTarget(flags.common);
  CheckRanksPerChip(flags);
  if (flags.part == "step") return BenchStep(flags);
  if (flags.part == "sparse") return BenchSparse(flags);
  if (flags.part == "alltoall") return BenchAllToAll(flags);
  if (flags.part == "recat" || flags.part == "gemm") return RunAlone(flags);
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
