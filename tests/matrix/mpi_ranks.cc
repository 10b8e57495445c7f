// What matrix_test.cc runs under mpirun, a process a rank: the cases that thread ranks run.

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "hotrow/comm/mpi_session.h"
#include "matrix_case.h"

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

int Report(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    fmt::print(stderr, "failed: {}\n", error.what());
  }
  return 1;
}

}  // namespace
}  // namespace hotrow

int main() {
  hotrow::MpiSession session;
  int (*body)(hotrow::Communicator&) = hotrow::RunAll;
  int (*report)(std::exception_ptr) = hotrow::Report;
  return session.Run(body, report);
}
