// Runs mpi_ranks.cc under mpirun.

#include "tests/comm/run_under_mpi.h"

namespace hotrow {
namespace {

void RunOn(int ranks) {
  ExpectMpiSucceeds(ranks, HOTROW_SHARDED_MPI_RANKS, "cases on " + std::to_string(ranks) + " ranks");
}

TEST(ShardedMpi, TrainsAsOneRankDoesOnTwoRanks) { RunOn(2); }
TEST(ShardedMpi, TrainsAsOneRankDoesOnThreeRanks) { RunOn(3); }
TEST(ShardedMpi, TrainsAsOneRankDoesOnFourRanks) { RunOn(4); }

}  // namespace
}  // namespace hotrow
