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

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotrow::cli {

struct BenchFlag {
  std::string name;   ///< without the dashes
  std::string value;  ///< "true" and "false" for flags without a value

  friend bool operator==(const BenchFlag&, const BenchFlag&) = default;
};

struct Configuration {
  std::string name;
  std::vector<BenchFlag> flags;  ///< common ones too, each name once
  std::int64_t mpi = 0;          ///< processes; 0: none of mpirun's
  std::size_t baseline = 0;      ///< the configuration that it is compared with; itself: it is one

  /// The words after `hotrow`: "bench", "--kernel", "unfused", ….
  std::vector<std::string> Arguments() const;
};

struct Experiment {
  std::string name;
  std::string question;
  std::int64_t rounds = 5;
  std::string metric;  ///< empty: the first that bench gives of ms_per_step.rank0_median, step_ms and ms
  std::vector<Configuration> configurations;
};

/// Throws Error naming file, line and key for what is no experiment. Whether bench knows the flags is not
/// asked.
Experiment LoadExperiment(const std::string& path);

}  // namespace hotrow::cli
