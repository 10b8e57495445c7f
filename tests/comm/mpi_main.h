#pragma once
// What main() is in a program of a test that runs under mpirun.

#include <fmt/core.h>

#include <cstdio>
#include <exception>

#include "hotrow/comm/mpi_session.h"

namespace hotrow {

/// Calls body on every rank and returns its code; what it throws ends the world with code 1, said once.
inline int RunMpiMain(int (*body)(Communicator&)) {
  MpiSession session;
  const auto report = [](std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      fmt::print(stderr, "failed: {}\n", error.what());
    }
    return 1;
  };
  return session.Run(body, report);
}

}  // namespace hotrow
