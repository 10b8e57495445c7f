#pragma once
// The parts of `hotrow bench`: each measures, prints, writes its JSON and returns an ExitCode. They throw
// hotrow::Error for a user's mistake. `processes`: those of an MPI launcher, each of which calls, or null.

#include "cli/bench_flags.h"
#include "hotrow/comm/mpi_session.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow::cli {

/// --part step: the whole training step.
int BenchStep(const BenchFlags& flags, MpiSession* processes);
/// --part sparse: the embedding half alone.
int BenchSparse(const BenchFlags& flags, MpiSession* processes);
/// --part gemm: the tower's matrix products alone.
int BenchGemm(const BenchFlags& flags, ThreadPool& pool);
/// --part recat: one rank's recat of what --ranks sources sent, on all threads.
int BenchRecat(const BenchFlags& flags, ThreadPool& pool);
/// --part alltoall: the exchanges of a step over thread ranks, or over the processes of mpirun.
int BenchAllToAll(const BenchFlags& flags, MpiSession* processes);

}  // namespace hotrow::cli
