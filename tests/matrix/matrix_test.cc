// The matrix over thread ranks, and under mpirun.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>
#include <tuple>

#include "hotrow/comm/thread_ranks.h"
#include "matrix_case.h"
#include "tests/comm/run_under_mpi.h"

namespace hotrow::matrix {
namespace {

class World : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Matrix, World, testing::Values(1, 2, 4, 8),
                         [](const auto& info) { return "Of" + std::to_string(info.param); });

TEST_P(World, OfThreadsTrainsAsOneRankDoes) {
  for (const Case& c : CasesFor(GetParam(), false)) {
    try {
      RunThreadRanks(GetParam(), [&](Communicator& comm) { RunCase(c, comm); });
    } catch (const std::exception& error) {
      ADD_FAILURE() << c.Name() << ": " << error.what();
    }
  }
}

TEST_P(World, OfMpiTrainsAsOneRankDoes) {
  const auto cases = std::to_string(CasesFor(GetParam(), true).size());
  ExpectMpiSucceeds(GetParam(), HOTROW_MATRIX_MPI_RANKS,
                    cases + " cases on " + std::to_string(GetParam()) + " ranks");
}

std::array<int, 9> Digits(const Case& c) {
  return {static_cast<int>(c.plan),
          static_cast<int>(c.learning),
          static_cast<int>(c.kernel),
          static_cast<int>(c.dist.recat),
          static_cast<int>(c.dist.id_bytes),
          static_cast<int>(c.dist.output_permute),
          2 * static_cast<int>(c.bags.fixed) + static_cast<int>(c.bags.weighted),
          static_cast<int>(c.pipelined),
          c.threads};
}

// (axis, value, other axis, value) of two choices that meet in a case.
using Pairs = std::set<std::tuple<std::size_t, int, std::size_t, int>>;
Pairs PairsOf(const std::vector<Case>& cases) {
  Pairs pairs;
  for (const Case& c : cases) {
    const auto digits = Digits(c);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) pairs.insert({i, digits[i], j, digits[j]});
    }
  }
  return pairs;
}

TEST_P(World, SeesEveryTwoChoicesTogether) {
  const Pairs all = PairsOf(Product());
  for (const bool mpi : {false, true}) EXPECT_EQ(PairsOf(CasesFor(GetParam(), mpi)), all);
}

}  // namespace
}  // namespace hotrow::matrix
