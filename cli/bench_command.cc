// hotrow bench: which part is measured.

#include <CLI/App.hpp>
#include <memory>

#include "cli/app.h"
#include "cli/bench_flags.h"
#include "cli/bench_parts.h"
#include "cli/config_file.h"
#include "hotrow/base/error.h"

namespace hotrow::cli {
namespace {

int Run(BenchFlags& flags, CLI::App& app) {
  if (!flags.common.config.empty()) ApplyConfigFile(app, flags.common.config);
  CheckJsonTarget(flags.common);
  if (flags.ranks % flags.ranks_per_chip != 0) {
    Fail("--ranks-per-chip {}: does not divide the {} ranks of this run", flags.ranks_per_chip, flags.ranks);
  }
  ThreadPool pool(flags.common.ThreadCount());
  if (flags.part == "step") return BenchStep(flags, pool);
  if (flags.part == "sparse") return BenchSparse(flags, pool);
  if (flags.part == "gemm") return BenchGemm(flags, pool);
  Fail("--part {}: valid: step, sparse, gemm", flags.part);
}

}  // namespace

Command AddBenchCommand(CLI::App& root) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* app = root.add_subcommand("bench", "Steady-state speed, with the machine's limit beside it");
  AddBenchFlags(*app, *flags);
  return {app, [flags, app] { return Run(*flags, *app); }};
}

}  // namespace hotrow::cli
