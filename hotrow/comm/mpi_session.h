#pragma once
// Ranks as MPI processes. In a build without MPI the same functions exist, and say that MPI is missing.
//
// MPI decides how a rank waits for its peers. Open MPI polls. It yields its core between polls if mpirun was
// told of fewer slots than ranks, or with `--mca mpi_yield_when_idle 1`.

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hotrow/base/function_ref.h"
#include "hotrow/comm/communicator.h"

namespace hotrow {

/// Whether this build has MPI.
bool MpiAvailable();

/// What the launcher has said about this process, in the environment.
struct Launch {
  std::string launcher;  ///< for messages: "Open MPI's mpirun"
  int rank = 0;
  int size = 1;
};

/// Looks for Open MPI's, PMI's (MPICH, Slurm) and PMIx's variables; lookup(name) returns the value or null,
/// as std::getenv does. Nothing if the process was not started by an MPI launcher.
std::optional<Launch> DetectLaunch(FunctionRef<const char*(const char*)> lookup);

/// How long a process stays before it ends, when another process is to report the failure: longer than that
/// other process may wait before it reports (Run).
inline constexpr int kSecondsToSpeak = 8;

struct MpiOptions {
  /// Longer parts travel as several messages. MPI counts are int, hence at most 2^31 - 1; tests lower it.
  std::int64_t max_message_bytes = std::int64_t{1} << 30;
};

/// MPI from its initialisation to its end: at most one in the life of a process. Collectives may be called
/// from any thread, one at a time.
class MpiSession {
 public:
  /// Throws Error where the build has no MPI.
  explicit MpiSession(const MpiOptions& options = {});
  /// Ends MPI, together with all ranks; not after a failure that Run has seen.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  Communicator& world();
  /// How many ranks are on this rank's host.
  int local_size() const;

  /// Returns body(world()). When it throws, every process of the world ends, and this function does not
  /// return. mpirun's exit code is then the failing rank's report(exception). If several ranks of a host
  /// fail, the first of them reports. Hosts after the first wait two to six seconds before they report, so
  /// that an error that all ranks notice is printed once.
  int Run(FunctionRef<int(Communicator&)> body, FunctionRef<int(std::exception_ptr)> report);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hotrow
