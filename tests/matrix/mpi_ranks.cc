// What matrix_test.cc runs under mpirun, a process a rank: the cases that thread ranks run.

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "matrix_case.h"
#include "tests/comm/mpi_main.h"

namespace hotrow {
namespace {

int RunAll(Communicator& comm) {
  const auto cases = matrix::CasesFor(comm.size(), true);
  for (const matrix::Case& c : cases) {
    try {
      matrix::RunCase(c, comm);
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
