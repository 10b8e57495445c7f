#pragma once
// How a model may be trained, and what must not depend on it: every combination of plan, threads, optimizer,
// kernel, recat, bags and pipeline, run on a world of any size and compared with one rank and one thread.
//
// Functions that all ranks of a world run together: thread ranks under GoogleTest, MPI ranks in a program of
// their own. What does not hold throws.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/train/trainer.h"
#include "matrix_model.h"

namespace hotrow::matrix {

/// The same on every rank.
struct Case {
  PlanOf plan = PlanOf::kTableWise;
  Learning learning = Learning::kSgd;
  BackwardKernel kernel = BackwardKernel::kFused;
  DistOptions dist;
  Bags bags;
  bool pipelined = false;    ///< the next batch's ids travel during the step
  bool say_samples = false;  ///< ranks know each other's batch sizes
  int threads = 1;           ///< of each rank

  std::string Name() const;
};

/// The whole product, output permute, id width and say_samples in turn; or about one case in `of`, chosen by
/// `salt`.
std::vector<Case> Product();
std::vector<Case> Sample(std::int64_t of, std::uint64_t salt);

/// Whether the environment asks for the whole product: HOTROW_FULL_MATRIX.
bool FullMatrix();
/// What is run on a world: all of Product(), or a sample.
std::vector<Case> CasesFor(int world, bool mpi);

/// Trains on the ranks. Losses of every step, the logits of every sample, weights_hash and state_hash must be
/// those of one rank; where pooled sums are reassociated (row_wise, grid) losses within 1e-5, weights
/// likewise after SGD, and the bits of every other case with this plan, world, optimizer and data: the first
/// of them is run again, on MPI ranks also on as many thread ranks.
void RunCase(const Case& c, Communicator& comm);

}  // namespace hotrow::matrix
