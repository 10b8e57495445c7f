#pragma once
// A thread rank's end of the exchange. Internal to the thread transport.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hotrow/comm/communicator.h"
#include "hotrow/comm/thread_exchange.h"

namespace hotrow::internal {

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(ThreadExchange& exchange, int rank);

  int rank() const override { return rank_; }
  int size() const override { return exchange_.ranks(); }
  bool shares_memory() const override { return true; }
  void Progress() override;
  std::vector<std::span<std::byte>> BeginShare(std::span<std::byte> mine, std::uint64_t* id) override;
  void EndShare(std::uint64_t id) override;
  void AbandonShare(std::uint64_t id) noexcept override;

 private:
  class Transfer;
  using Lock = ThreadExchange::Lock;

  void DoBarrier() override;
  std::unique_ptr<Request::Pending> DoStart(std::span<const SendPart> send,
                                            std::span<const ReceivePart> receive, Op op) override;
  /// Copies what peers have published for this transfer; whether there was anything. Unlocks meanwhile.
  bool Pull(Lock& lock, Transfer& transfer);
  /// Pulls for every transfer in flight: a peer may wait for this rank in any of them.
  bool PullAll(Lock& lock);
  void Wait(Transfer& transfer, bool until_sent);
  void Abandon(Transfer& transfer) noexcept;
  void Forget(Transfer& transfer);

  ThreadExchange& exchange_;
  const int rank_;
  std::uint64_t next_ = 0;            // sequence number of the next operation
  std::vector<Transfer*> in_flight_;  // in the order of their start
  std::vector<int> ready_;            // Pull's, kept for its memory
};

}  // namespace hotrow::internal
