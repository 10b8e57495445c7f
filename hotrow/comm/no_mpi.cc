// Stands in for mpi_session.cc and mpi_communicator.cc where the build found no MPI.

#include "hotrow/base/error.h"
#include "hotrow/comm/mpi_session.h"

namespace hotrow {

struct MpiSession::State {};

bool MpiAvailable() { return false; }

MpiSession::MpiSession(const MpiOptions& /*options*/) {
  Fail(
      "this hotrow was built without MPI, so its ranks can only be threads (--ranks); to run under "
      "mpirun, install MPI (Debian: libopenmpi-dev openmpi-bin) and build again with "
      "-DHOTROW_WITH_MPI=ON");
}
MpiSession::~MpiSession() = default;
Communicator& MpiSession::world() { Fail("no MPI"); }
int MpiSession::local_size() const { return 1; }
int MpiSession::Run(FunctionRef<int(Communicator&)> /*body*/,
                    FunctionRef<int(std::exception_ptr)> /*report*/) {
  Fail("no MPI");
}

}  // namespace hotrow
