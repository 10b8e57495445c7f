#pragma once
// An experiment as a TOML file: configurations of `hotrow bench` that are to be measured in turn.
//
// clang-format off
//   name = "kernel"                          # of the experiment, a word
//   question = "Does the cost follow rows?"  # what the log's reader will have answered
//   rounds = 5                               # how often each configuration runs (5)
//   metric = "ms_per_step.rank0_median"      # a path into bench's JSON; this, else step_ms, else ms
//   mpi = 4                                  # run as `mpirun -n 4`; 0: no mpirun (0)
//   baseline = "unfused"                     # a configuration's name; or a table, see below
//   [flags]                                  # bench's flags, of every configuration; an array is a comma list
//   steps = 5
//   [sweep]                                  # each a list: every combination is a configuration
//   max-rows = [100000, 500000]
//   [[configuration]]                        # may be left out where there is a sweep
//   name = "unfused"
//   mpi = 2                                  # instead of the experiment's
//   flags = { kernel = "unfused" }           # over those of [flags]
// clang-format on
//
// With configurations and a sweep, every configuration runs at every point of the sweep, and a baseline of
// that name is compared with at the same point. `baseline = { kernel = "unfused" }` says so of swept flags:
// compared is with the configuration whose kernel is unfused and whose other swept flags are the same.
// Without a baseline it is the first configuration.

#include <string>

#include "hotrow/measure/experiment.h"

namespace hotrow {

/// Throws Error naming file, line and key for what is no experiment. Whether bench knows the flags is not
/// asked: CheckBenchFlags.
Experiment LoadExperiment(const std::string& path);

/// Throws Error naming the configuration when bench does not know a flag or refuses its value. Nothing runs.
void CheckBenchFlags(const Experiment& experiment);

}  // namespace hotrow
