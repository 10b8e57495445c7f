#pragma once
// Configurations of `hotrow bench` that are to be measured in turn.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotrow {

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
  /// The command, for this program at `program`: mpirun in front where it is wanted.
  std::vector<std::string> Command(const std::string& program) const;
  /// The same as a line that a shell reads, of a program `hotrow`.
  std::string CommandLine() const;
};

struct Experiment {
  std::string name;
  std::string question;
  std::int64_t rounds = 5;
  std::string metric;  ///< empty: the first that bench gives of ms_per_step.rank0_median, step_ms and ms
  std::vector<Configuration> configurations;
};

/// A word as a POSIX shell reads it back.
std::string ShellWord(const std::string& word);

}  // namespace hotrow
