#include "hotrow/comm/mpi_communicator.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow::internal {

namespace {

int TagOf(Op op) { return 1 + static_cast<int>(op); }
std::string_view NameOfTag(int tag) { return kOpNames.at(Index(tag - 1)); }

int ErrorClass(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

// Calls message(begin, bytes, peer) for each message of each part that is for or from another rank.
template <typename Part, typename Message>
void ForEachMessage(std::span<const Part> parts, int self, std::int64_t max_bytes, Message&& message) {
  const int ranks = static_cast<int>(parts.size());
  for (int k = 1; k < ranks; ++k) {
    const int peer = (self + k) % ranks;  // not every rank to rank 0 first
    const Part part = parts[Index(peer)];
    const auto bytes = static_cast<std::int64_t>(part.size());
    for (std::int64_t begin = 0; begin < bytes; begin += max_bytes) {
      message(part.data() + begin, static_cast<int>(std::min(max_bytes, bytes - begin)), peer);
    }
  }
}

}  // namespace

void CheckMpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  FailSystem("{}: {}", call, std::string_view(text, Index(length)));
}

class MpiCommunicator::Transfer final : public Request::Pending {
 public:
  explicit Transfer(Op op) : tag_(TagOf(op)) {}

  // Any tag: an exchange that is another one on the other side is to be seen, not waited for.
  void Receive(MPI_Comm comm, std::byte* begin, int bytes, int peer) {
    receives_.push_back(MPI_REQUEST_NULL);
    expected_.push_back(bytes);
    CheckMpi(MPI_Irecv(begin, bytes, MPI_BYTE, peer, MPI_ANY_TAG, comm, &receives_.back()), "MPI_Irecv");
  }
  void Send(MPI_Comm comm, const std::byte* begin, int bytes, int peer) {
    sends_.push_back(MPI_REQUEST_NULL);
    CheckMpi(MPI_Isend(begin, bytes, MPI_BYTE, peer, tag_, comm, &sends_.back()), "MPI_Isend");
  }

  void WaitReceived() override {
    if (receives_.empty()) return;
    std::vector<MPI_Status> statuses(receives_.size());
    const int code = MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), statuses.data());
    if (code == MPI_ERR_IN_STATUS) {
      for (std::size_t i = 0; i < statuses.size(); ++i) CheckFailed(statuses[i], expected_[i]);
    }
    CheckMpi(code, "MPI_Waitall");
    for (std::size_t i = 0; i < statuses.size(); ++i) CheckArrived(statuses[i], expected_[i]);
    receives_.clear();
    expected_.clear();
  }

  void Wait() override {
    WaitReceived();
    CheckMpi(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    sends_.clear();
  }

  // The world is about to end: nothing more may arrive in memory that is going away.
  void Abandon() noexcept override {
    for (MPI_Request& request : receives_) {
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    }
  }

 private:
  // Of several receives of which some failed, the others may be pending still: no failure of theirs.
  static void CheckFailed(const MPI_Status& status, int expected) {
    const int error = ErrorClass(status.MPI_ERROR);
    if (error == MPI_ERR_PENDING) return;
    if (error == MPI_ERR_TRUNCATE)
      throw std::logic_error(
          fmt::format("rank {} sends more than the {} bytes that are expected", status.MPI_SOURCE, expected));
    CheckMpi(status.MPI_ERROR, "MPI_Waitall");
  }
  void CheckArrived(const MPI_Status& status, int expected) const {
    if (status.MPI_TAG != tag_) {
      throw std::logic_error(
          fmt::format("ranks disagree on their next exchange: rank {} calls {}, this one {}",
                      status.MPI_SOURCE, NameOfTag(status.MPI_TAG), NameOfTag(tag_)));
    }
    int bytes = 0;
    CheckMpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    if (bytes == expected) return;
    throw std::logic_error(
        fmt::format("rank {} sends {} bytes, where {} are expected", status.MPI_SOURCE, bytes, expected));
  }

  int tag_;
  std::vector<MPI_Request> receives_;
  std::vector<int> expected_;  // bytes of each receive
  std::vector<MPI_Request> sends_;
};

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::int64_t max_message_bytes)
    : max_message_bytes_(max_message_bytes) {
  HOTROW_CHECK(max_message_bytes >= 1 && max_message_bytes <= (std::int64_t{1} << 31) - 1);
  CheckMpi(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
  // Errors come back and are thrown, like any other failure of a rank.
  CheckMpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  CheckMpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  CheckMpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
}

MpiCommunicator::~MpiCommunicator() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

std::unique_ptr<Request::Pending> MpiCommunicator::DoStart(std::span<const SendPart> send,
                                                           std::span<const ReceivePart> receive, Op op) {
  auto transfer = std::make_unique<Transfer>(op);
  try {
    // Receives first: a message that finds one waiting needs no copy.
    ForEachMessage(receive, rank_, max_message_bytes_, [&](std::byte* begin, int bytes, int peer) {
      transfer->Receive(comm_, begin, bytes, peer);
    });
    ForEachMessage(send, rank_, max_message_bytes_, [&](const std::byte* begin, int bytes, int peer) {
      transfer->Send(comm_, begin, bytes, peer);
    });
  } catch (...) {
    transfer->Abandon();
    throw;
  }
  return transfer;
}

void MpiCommunicator::DoBarrier() { CheckMpi(MPI_Barrier(comm_), "MPI_Barrier"); }

void MpiCommunicator::Progress() {
  int arrived = 0;  // the question moves every pending message along
  CheckMpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

}  // namespace hotrow::internal
