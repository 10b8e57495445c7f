#pragma once
// What a benchmark is told, and which run a result belongs to. The parts (step_benchmark.h,
// sparse_benchmark.h, alltoall_benchmark.h, recat_benchmark.h, gemm_benchmark.h) take a BenchConfig and
// return a result that holds a BenchRun; bench_report.h prints it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hotrow/comm/communicator.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/train/trainer.h"

namespace hotrow {

/// How far a benchmark is: `done` of `of` warm-up steps, or of timed ones.
struct StepsDone {
  bool warmup = false;
  std::int64_t done = 0;
  std::int64_t of = 0;
};

struct BenchConfig {
  /// Placed on the world for the step and the sparse part: plan, dist options, reduction units.
  TrainerConfig trainer;
  SyntheticConfig data;                ///< one feature for each of the model's
  std::int64_t per_chip_batch = 4096;  ///< samples of a rank
  std::int64_t ranks_per_chip = 1;     ///< for the figure of a chip
  std::int64_t steps = 50;             ///< timed ones
  std::int64_t warmup = 10;
  bool pipeline = true;  ///< exchange the next batch's ids during a step
  /// Measure what the machine allows beside the step or the sparse part; it costs about as much as the steps.
  bool limits = true;
  bool hash = false;  ///< make the hashes for tables above Trainer::kHashedBytes too
  /// Called, if there, after every step, outside the timed region.
  std::function<void(const StepsDone&)> on_step = nullptr;

  // How it was asked for, which a report repeats and nothing else reads.
  std::string cardinality;  ///< "tiny"
  std::string sharding;     ///< "column_wise", or the name of a plan file
  std::int64_t max_rows = 0;
  bool capped = false;  ///< a table had more rows than max_rows

  /// Calls on_step: `done` steps are over, those of the warm-up included.
  void TellStep(std::int64_t done) const {
    if (!on_step) return;
    on_step(done <= warmup ? StepsDone{true, done, warmup} : StepsDone{false, done - warmup, steps});
  }
};

/// A part of a benchmark in its world.
struct BenchRun {
  std::string part;  ///< "step", "sparse", "alltoall", "recat" or "gemm"
  BenchConfig config;
  std::int64_t world = 1;
  std::int64_t threads = 1;  ///< of this process
  std::string transport;     ///< "threads" or "mpi"

  std::int64_t global_batch() const { return CheckedMul(config.per_chip_batch, world); }
  std::int64_t rows() const;  ///< of all tables
  std::int64_t ids_per_step() const;
};

/// Collective: the run of `part` on this world, each rank with `threads` compute threads.
BenchRun DescribeRun(std::string part, const BenchConfig& config, Communicator& comm, int threads);

/// Bytes of an id on the wire, 4 or 8. Throws Error where 4 are wanted and a table has too many rows.
int WireIdBytes(const BenchConfig& config);

/// Bytes over seconds in GB/s; none where no time was taken.
std::optional<double> GigabytesPerSecond(std::int64_t bytes, double seconds);

}  // namespace hotrow
