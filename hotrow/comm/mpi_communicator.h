#pragma once
// An MPI rank's communicator. Internal to the MPI transport, which alone sees mpi.h.

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>

#include "hotrow/comm/communicator.h"

namespace hotrow::internal {

/// Throws SystemError that names the call and MPI's reason, unless `code` is MPI_SUCCESS.
void CheckMpi(int code, const char* call);

/// Each part of an exchange is one message from the sender's span to the receiver's, or several if it is
/// long. An empty part sends no message. Messages between two ranks match in the order of their start, and
/// all ranks start exchanges in one order. So matching needs no tags. The tag carries the Op, which the
/// receiver compares with its own.
class MpiCommunicator final : public Communicator {
 public:
  /// A communicator of its own over the ranks of `parent`. Collective.
  MpiCommunicator(MPI_Comm parent, std::int64_t max_message_bytes);
  ~MpiCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool shares_memory() const override { return false; }
  void Progress() override;

 private:
  class Transfer;

  void DoBarrier() override;
  std::unique_ptr<Request::Pending> DoStart(std::span<const SendPart> send,
                                            std::span<const ReceivePart> receive, Op op) override;

  MPI_Comm comm_ = MPI_COMM_NULL;
  const std::int64_t max_message_bytes_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace hotrow::internal
