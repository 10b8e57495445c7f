// hotrow bench: which part is measured, on which ranks, and what is said of it.

#include <fmt/core.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/cli11.h"
#include "cli/made_directory.h"
#include "cli/run_ranks.h"
#include "cli/settings_flags.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/measure/bench_of_run.h"
#include "hotrow/measure/bench_report.h"
#include "hotrow/run/words.h"
#include "hotrow/trace/phase.h"

namespace hotrow::cli {
namespace {

void CheckRanksPerChip(const RunConfig& run, MpiSession* processes) {
  const std::int64_t ranks = processes != nullptr ? processes->world().size() : run.placement.ranks;
  if (ranks % run.bench.ranks_per_chip == 0) return;
  Fail("--ranks-per-chip {}: does not divide the {} ranks of this run", run.bench.ranks_per_chip, ranks);
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
  RankRun(const RunConfig& run, Communicator& comm, const RanksOfHost& host)
      : config(ResolveBench(run)), pool(ThreadsOfRank(run.common, comm, host)) {
    PlaceOnWorld(run, WorldOf(comm, host), config);
    config.on_step = ProgressOf(run.common, comm.rank());
  }
  BenchConfig config;
  ThreadPool pool;
};

// Tells what --check found; whether the run may go on. On every rank alike.
bool Passes(const CommonConfig& common, const CheckResult& check, const BenchRun& run, Communicator& comm) {
  if (comm.rank() == 0) {
    PrintResult(common, ToText(check));
    if (!check.ok) WriteJson(common, ToJson(run, check));
  }
  return check.ok;
}

int BenchStep(const RunConfig& run, Communicator& comm, const RanksOfHost& host) {
  RankRun rank(run, comm, host);
  std::optional<CheckResult> check;
  if (run.bench.check) {
    check = CheckStep(rank.config, comm, rank.pool);
    const BenchRun described = DescribeRun("step", rank.config, comm, rank.pool.size());
    if (!Passes(run.common, *check, described, comm)) return kFailed;
  }
  Tracer tracer(rank.pool.size());
  const bool traced = !run.files.profile_dir.empty();
  StepResult result = RunStep(rank.config, comm, rank.pool, traced ? &tracer : nullptr);
  result.check = check;
  if (comm.rank() == 0) Report(run.common, result);
  // Last: whatever is wrong with it, the result is there.
  if (traced) WriteTrace(comm, tracer, run.files.profile_dir);
  return kDone;
}

int BenchSparse(const RunConfig& run, Communicator& comm, const RanksOfHost& host) {
  RankRun rank(run, comm, host);
  std::optional<CheckResult> check;
  if (run.bench.check) {
    check = CheckSparse(rank.config, comm, rank.pool);
    const BenchRun described = DescribeRun("sparse", rank.config, comm, rank.pool.size());
    if (!Passes(run.common, *check, described, comm)) return kFailed;
  }
  SparseResult result = RunSparse(rank.config, comm, rank.pool);
  result.check = check;
  return comm.rank() == 0 ? Report(run.common, result) : kDone;
}

int BenchAllToAll(const RunConfig& run, Communicator& comm, const RanksOfHost& host) {
  const AllToAllResult result = RunAllToAll(ResolveBench(run), host.count, comm);
  return comm.rank() == 0 ? Report(run.common, result) : kDone;
}

int RunAlone(const RunConfig& run, MpiSession* processes) {
  if (processes != nullptr) {
    Fail("--part {}: runs in one process, the launcher started {}; valid over them: step, sparse, alltoall",
         WordOf(kBenchParts, run.bench.part), processes->world().size());
  }
  ThreadPool pool(ThreadsOfProcess(run.common));
  if (run.bench.part == BenchPart::kRecat)
    return Report(run.common, RunRecat(ResolveBench(run), run.placement.ranks, pool));
  if (run.placement.ranks > 1) {
    Fail("--ranks {}: --part gemm runs on one rank, valid with more: step, sparse, recat, alltoall",
         run.placement.ranks);
  }
  BenchConfig config = ResolveBench(run);
  config.on_step = ProgressOf(run.common, 0);
  return Report(run.common, RunGemm(config, pool));
}

int RunBench(const CLI::App& app, MpiSession* processes) {
  const RunSettings settings = ReadCommandLine(app, kBench);
  const RunConfig& run = settings.config;
  if (processes != nullptr) CheckSameSettings(settings, processes->world());
  const MadeDirectory directory({"--profile-dir", WritesResults(processes) ? run.files.profile_dir : ""});
  if (WritesResults(processes)) CheckOutputs(settings);
  CheckRanksPerChip(run, processes);
  const auto on_ranks = [&](int (*part)(const RunConfig&, Communicator&, const RanksOfHost&)) {
    return RunRanks(processes, run.placement.ranks,
                    [&](Communicator& comm, const RanksOfHost& host) { return part(run, comm, host); });
  };
  switch (run.bench.part) {
    case BenchPart::kStep:
      return on_ranks(BenchStep);
    case BenchPart::kSparse:
      return on_ranks(BenchSparse);
    case BenchPart::kAllToAll:
      return on_ranks(BenchAllToAll);
    case BenchPart::kRecat:
    case BenchPart::kGemm:
      break;
  }
  return RunAlone(run, processes);
}

}  // namespace

Command AddBenchCommand(CLI::App& root) {
  CLI::App* app = root.add_subcommand("bench", "Steady-state speed, with the machine's limit beside it");
  AddSettings(*app, kBench);
  return {.app = app, .run_on_ranks = [app](MpiSession* processes) { return RunBench(*app, processes); }};
}

}  // namespace hotrow::cli
