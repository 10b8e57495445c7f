#include "hotrow/comm/mpi_session.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/comm/mpi_communicator.h"

namespace hotrow {
namespace {

using internal::CheckMpi;

// How long the first failing rank of a host waits, so that earlier hosts can report first: one step for each
// of them, up to kHostSteps. The other ranks of the host wait one step more than the longest of these waits,
// kSecondsToSpeak. A step is longer than mpirun takes to end ranks on other hosts whose cores many ranks
// share: over one second with 32 ranks on two cores.
constexpr int kHostSteps = 3;
constexpr auto kHostStep = std::chrono::seconds(kSecondsToSpeak / (kHostSteps + 1));

}  // namespace

bool MpiAvailable() { return true; }

struct MpiSession::State {
  explicit State(const MpiOptions& options) : world(MPI_COMM_WORLD, options.max_message_bytes) {
    const int rank = world.rank();
    CheckMpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host),
             "MPI_Comm_split_type");
    CheckMpi(MPI_Comm_rank(host, &local_rank), "MPI_Comm_rank");
    CheckMpi(MPI_Comm_size(host, &local_size), "MPI_Comm_size");
    FindHostNumber(rank);
    MakeClaim();
  }

  // Hosts are numbered by their lowest ranks.
  void FindHostNumber(int rank) {
    int leader = 0;
    CheckMpi(MPI_Allreduce(&rank, &leader, 1, MPI_INT, MPI_MIN, host), "MPI_Allreduce");
    std::vector<int> leaders(Index(world.size()));
    CheckMpi(MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
    for (std::size_t r = 0; r < leaders.size(); ++r) {
      host_number += leaders[r] == static_cast<int>(r) && leaders[r] < leader;
    }
  }

  // One word that the ranks of a host share.
  void MakeClaim() {
    const MPI_Aint bytes = local_rank == 0 ? sizeof(int) : 0;
    void* mine = nullptr;
    CheckMpi(MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, host, &mine, &window),
             "MPI_Win_allocate_shared");
    MPI_Aint size = 0;
    int unit = 0;
    void* word = nullptr;
    CheckMpi(MPI_Win_shared_query(window, 0, &size, &unit, &word), "MPI_Win_shared_query");
    claim = static_cast<int*>(word);
    if (local_rank == 0) *claim = 0;
    CheckMpi(MPI_Barrier(host), "MPI_Barrier");
  }

  bool ClaimFailure() const { return std::atomic_ref<int>(*claim).exchange(1) == 0; }

  internal::MpiCommunicator world;
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int* claim = nullptr;  // 1 once a rank of this host has failed
  int local_rank = 0;
  int local_size = 1;
  int host_number = 0;
};

MpiSession::MpiSession(const MpiOptions& options) {
  int provided = MPI_THREAD_SINGLE;
  CheckMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED)
    Fail("this MPI cannot be called from several threads in turn, as Hotrow does");
  state_ = std::make_unique<State>(options);
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() > 0) return;  // the launcher ends the other ranks when this process is gone
  MPI_Win_free(&state_->window);
  MPI_Comm_free(&state_->host);
  state_.reset();
  MPI_Finalize();
}

Communicator& MpiSession::world() { return state_->world; }
int MpiSession::local_size() const { return state_->local_size; }

int MpiSession::Run(FunctionRef<int(Communicator&)> body, FunctionRef<int(std::exception_ptr)> report) {
  try {
    return body(state_->world);
  } catch (...) {
    int code = 1;
    if (state_->ClaimFailure()) {
      std::this_thread::sleep_for(kHostStep * std::min(state_->host_number, kHostSteps));
      code = report(std::current_exception());
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(kSecondsToSpeak));
    }
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();  // MPI_Abort does not return
  }
}

}  // namespace hotrow
