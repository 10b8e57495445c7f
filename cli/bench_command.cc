// hotrow bench: which part is measured, on which ranks, and what is said of it.

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/bench_flags.h"
#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/made_directory.h"
#include "cli/run_ranks.h"
#include "cli/same_flags.h"
#include "cli/targets.h"
#include "cli/unread_flags.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/measure/bench_report.h"
#include "hotrow/trace/phase.h"

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
  given.Refuse(run, {{"--sharding", "step or sparse"},
                     {"--output-permute", "step or sparse"},
                     {"--limits", "step or sparse"}});
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

// Says how far the benchmark is, on stderr: after the first step, then every two seconds at most. On rank 0.
std::function<void(const StepsDone&)> ProgressOf(const CommonFlags& common, int rank) {
  if (rank != 0) return nullptr;
  return [common, next = 0.0](const StepsDone& steps) mutable {
    constexpr double kPause = 2;
    const double now = NowSeconds();
    if (now < next) return;
    next = now + kPause;
    PrintProgress(common,
                  fmt::format("{} {} of {}", steps.warmup ? "warm-up step" : "step", steps.done, steps.of));
  };
}

template <typename Result>
int Report(const CommonFlags& common, const Result& result) {
  PrintResult(common, ToText(result));
  WriteJson(common, ToJson(result));
  return kDone;
}

// A rank's part of a run that trains.
struct RankRun {
  RankRun(const BenchFlags& flags, Communicator& comm, const RanksOfHost& host)
      : config(MakeBenchConfig(flags)), pool(ThreadsOfRank(flags.common, comm, host)) {
    const std::vector<double> ids(config.data.bag_sizes.begin(), config.data.bag_sizes.end());
    PlaceOnRanks(flags.over, flags.model, ids, comm, host, config.trainer);
    config.on_step = ProgressOf(flags.common, comm.rank());
  }
  BenchConfig config;
  ThreadPool pool;
};

// Tells what --check found; whether the run may go on. On every rank alike.
bool Passes(const BenchFlags& flags, const CheckResult& check, const BenchRun& run, Communicator& comm) {
  if (comm.rank() == 0) {
    PrintResult(flags.common, ToText(check));
    if (!check.ok) WriteJson(flags.common, ToJson(run, check));
  }
  return check.ok;
}

int BenchStep(const BenchFlags& flags, Communicator& comm, const RanksOfHost& host) {
  RankRun rank(flags, comm, host);
  std::optional<CheckResult> check;
  if (flags.check) {
    check = CheckStep(rank.config, comm, rank.pool);
    const BenchRun run = DescribeRun("step", rank.config, comm, rank.pool.size());
    if (!Passes(flags, *check, run, comm)) return kFailed;
  }
  Tracer tracer(rank.pool.size());
  const bool traced = !flags.over.profile_dir.empty();
  StepResult result = RunStep(rank.config, comm, rank.pool, traced ? &tracer : nullptr);
  result.check = check;
  if (comm.rank() == 0) Report(flags.common, result);
  // Last: whatever is wrong with it, the result is there.
  if (traced) WriteTrace(comm, tracer, flags.over.profile_dir);
  return kDone;
}

int BenchSparse(const BenchFlags& flags, Communicator& comm, const RanksOfHost& host) {
  RankRun rank(flags, comm, host);
  std::optional<CheckResult> check;
  if (flags.check) {
    check = CheckSparse(rank.config, comm, rank.pool);
    const BenchRun run = DescribeRun("sparse", rank.config, comm, rank.pool.size());
    if (!Passes(flags, *check, run, comm)) return kFailed;
  }
  SparseResult result = RunSparse(rank.config, comm, rank.pool);
  result.check = check;
  return comm.rank() == 0 ? Report(flags.common, result) : kDone;
}

int BenchAllToAll(const BenchFlags& flags, Communicator& comm, const RanksOfHost& host) {
  const AllToAllResult result = RunAllToAll(MakeBenchConfig(flags), host.count, comm);
  return comm.rank() == 0 ? Report(flags.common, result) : kDone;
}

int RunAlone(const BenchFlags& flags, MpiSession* processes) {
  if (processes != nullptr) {
    Fail("--part {}: runs in one process, the launcher started {}; valid over them: step, sparse, alltoall",
         flags.part, processes->world().size());
  }
  ThreadPool pool(flags.common.ThreadCount());
  if (flags.part == "recat")
    return Report(flags.common, RunRecat(MakeBenchConfig(flags), flags.over.ranks, pool));
  if (flags.over.ranks > 1) {
    Fail("--ranks {}: --part gemm runs on one rank, valid with more: step, sparse, recat, alltoall",
         flags.over.ranks);
  }
  if (flags.check) Fail("--check: --part gemm has nothing to check; valid with step and sparse");
  BenchConfig config = MakeBenchConfig(flags);
  config.on_step = ProgressOf(flags.common, 0);
  return Report(flags.common, RunGemm(config, pool));
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
  if (flags.part == "recat" || flags.part == "gemm") return RunAlone(flags, processes);
  const auto on_ranks = [&](int (*run)(const BenchFlags&, Communicator&, const RanksOfHost&)) {
    return RunRanks(processes, flags.over.ranks,
                    [&](Communicator& comm, const RanksOfHost& host) { return run(flags, comm, host); });
  };
  if (flags.part == "step") return on_ranks(BenchStep);
  if (flags.part == "sparse") return on_ranks(BenchSparse);
  if (flags.part == "alltoall") return on_ranks(BenchAllToAll);
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
