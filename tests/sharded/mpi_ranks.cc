// What mpi_test.cc runs under mpirun, a process a rank: the cases that thread ranks run.

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "sharded_cases.h"
#include "tests/comm/mpi_main.h"

namespace hotrow {
namespace {

using sharded_test::Case;

int RunAll(Communicator& comm) {
  std::vector<Case> cases = sharded_test::UnequalBatches();
  // Replicas need reduction units that the ranks divide.
  if (8 % comm.size() == 0) {
    for (const auto& more : {sharded_test::Matrix(), sharded_test::Routes()})
      cases.insert(cases.end(), more.begin(), more.end());
  }
  for (const Case& c : cases) {
    try {
      sharded_test::RunCase(c, comm);
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}: {}", c.Name(), error.what()));
    }
  }
  if (comm.rank() == 0) fmt::print("{} cases on {} ranks\n", cases.size(), comm.size());
  return 0;
}

}  // namespace
}  // namespace hotrow

int main() { return hotrow::RunMpiMain(hotrow::RunAll); }
