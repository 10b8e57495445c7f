// Runs mpi_ranks.cc under mpirun.

#include "tests/comm/run_under_mpi.h"

namespace hotrow {
namespace {

TEST(TrainMpi, TrainsAsOneRankDoesAndVerifies) {
  for (const int ranks : {2, 4}) {
    ExpectMpiSucceeds(ranks, HOTROW_TRAIN_MPI_RANKS, "trained on " + std::to_string(ranks) + " ranks");
  }
}

}  // namespace
}  // namespace hotrow
