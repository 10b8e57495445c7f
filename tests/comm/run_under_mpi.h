#pragma once
// Runs a program under mpirun, a process a rank.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "hotrow/comm/mpi_session.h"

namespace hotrow {

/// Why nothing can run under mpirun here, for a test that then skips; null where it can. The release preset
/// on a machine that scripts/setup.sh has set up runs them all.
inline const char* WhyNoMpi() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "MPI itself is not built for sanitizers";
#else
  if (!MpiAvailable()) return "this build has no MPI (HOTROW_WITH_MPI)";
  if (std::system("command -v mpirun > /dev/null") != 0) return "there is no mpirun (Debian: openmpi-bin)";
  return nullptr;
#endif
}

/// How often `part` stands in what a program printed.
inline int Occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// "All ranks stop within 10 s", as whoever waits for mpirun sees it: its own start and end take half a
/// second on most machines, and many where it cannot learn the topology. `calm`: the seconds of a world that
/// ends well.
inline double SecondsToEnd(double calm) { return 10.0 + 3.0 * calm; }

/// Expects the program to exit with 0 and to print `printed`. Skips the test where there is no MPI.
inline void ExpectMpiSucceeds(int ranks, const std::string& program, const std::string& printed) {
  if (const char* reason = WhyNoMpi()) GTEST_SKIP() << reason;
  // As root and with more ranks than cores, which mpirun refuses unless told otherwise. Ranks that wait give
  // their core up, whose threads are tied to none: the machine may be busy.
  const std::string command =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 3000 mpirun -n " +
      std::to_string(ranks) + " --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 " + program +
      " 2>&1";
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char buffer[4096];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    output.append(buffer, size);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << output;
  EXPECT_THAT(output, testing::HasSubstr(printed));
}

}  // namespace hotrow
