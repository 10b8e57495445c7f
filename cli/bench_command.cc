// hotrow bench: which part is measured.

#include <memory>
#include <vector>

#include "cli/app.h"
#include "cli/bench_flags.h"
#include "cli/bench_parts.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/made_directory.h"
#include "cli/run_ranks.h"
#include "cli/same_flags.h"
#include "cli/targets.h"
#include "cli/unread_flags.h"
#include "hotrow/base/error.h"

namespace hotrow::cli {
namespace {

// Those of the model are every part's: parts measure pieces of one.
void RefuseUnread(const std::string& part, const GivenFlags& given) {
  if (part != "sparse" && part != "recat" && part != "alltoall" && part != "gemm") return;
  const std::string run = "--part " + part;
  given.Refuse(run, {{"--pipeline", "step"},
                     {"--verify-every", "step"},
                     {"--profile-dir", "step"},
                     {"--hash", "step"},
                     {"--ranks-per-chip", "step"}});
  if (part == "sparse") return;
  given.Refuse(run, {{"--sharding", "step or sparse"}, {"--output-permute", "step or sparse"}});
  if (part == "recat") return;
  given.Refuse(run, {{"--recat-mode", "step, sparse or recat"}});
  if (part == "alltoall") return;
  given.Refuse(run, {{"--id-bytes", "step, sparse, recat or alltoall"}});
}

void CheckRanksPerChip(const BenchFlags& flags, MpiSession* processes) {
  const std::int64_t ranks = processes != nullptr ? processes->world().size() : flags.over.ranks;
  if (ranks % flags.ranks_per_chip == 0) return;
  Fail("--ranks-per-chip {}: does not divide the {} ranks of this run", flags.ranks_per_chip, ranks);
}

int RunAlone(BenchFlags& flags, MpiSession* processes) {
  if (processes != nullptr) {
    Fail("--part {}: runs in one process, the launcher started {}; valid over them: step, sparse, alltoall",
         flags.part, processes->world().size());
  }
  ThreadPool pool(flags.common.ThreadCount());
  if (flags.part == "recat") return BenchRecat(flags, pool);
  if (flags.over.ranks > 1) {
    Fail("--ranks {}: --part gemm runs on one rank, valid with more: step, sparse, recat, alltoall",
         flags.over.ranks);
  }
  return BenchGemm(flags, pool);
}

void CheckOutputs(const BenchFlags& flags) {
  std::vector<NamedFile> outputs = {JsonTarget(flags.common)};
  if (flags.part == "step") outputs.push_back(TraceTarget(flags.over));
  CheckTargets(outputs, {{"--config", flags.common.config}});
}

int Run(BenchFlags& flags, CLI::App& app, MpiSession* processes) {
  const GivenFlags given(app);
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  if (processes != nullptr) CheckSameFlags(app, processes->world());
  const bool traces = WritesResults(processes) && flags.part == "step";
  const MadeDirectory directory({"--profile-dir", traces ? flags.over.profile_dir : ""});
  if (WritesResults(processes)) CheckOutputs(flags);
  RefuseUnread(flags.part, given);
  CheckRanksPerChip(flags, processes);
  if (flags.part == "step") return BenchStep(flags, processes);
  if (flags.part == "sparse") return BenchSparse(flags, processes);
  if (flags.part == "alltoall") return BenchAllToAll(flags, processes);
  if (flags.part == "recat" || flags.part == "gemm") return RunAlone(flags, processes);
  Fail("--part {}: valid: step, sparse, recat, alltoall, gemm", flags.part);
}

}  // namespace

Command AddBenchCommand(CLI::App& root) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = root.add_subcommand("bench", "Steady-state speed, with the machine's limit beside it");
  AddBenchFlags(*app, *flags);
  return {.app = app,
          .run_on_ranks = [flags, app](MpiSession* processes) { return Run(*flags, *app, processes); }};
}

}  // namespace hotrow::cli
