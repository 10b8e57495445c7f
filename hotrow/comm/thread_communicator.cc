#include "hotrow/comm/thread_communicator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow::internal {

class ThreadCommunicator::Transfer final : public Request::Pending {
 public:
  Transfer(ThreadCommunicator& owner, std::span<const ReceivePart> receive_parts)
      : comm(owner),
        receive(receive_parts.begin(), receive_parts.end()),
        taken(receive.size(), false),
        missing(owner.size() - 1) {}
  void WaitReceived() override { comm.Wait(*this, /*until_sent=*/false); }
  void Wait() override { comm.Wait(*this, /*until_sent=*/true); }
  void Abandon() noexcept override { comm.Abandon(*this); }

  ThreadCommunicator& comm;
  std::vector<ReceivePart> receive;
  std::vector<bool> taken;  // peers whose part is here
  int missing;              // peers whose part is not
  ThreadExchange::Operation* operation = nullptr;
};

ThreadCommunicator::ThreadCommunicator(ThreadExchange& exchange, int rank)
    : exchange_(exchange), rank_(rank) {}

std::unique_ptr<Request::Pending> ThreadCommunicator::DoStart(std::span<const SendPart> send,
                                                              std::span<const ReceivePart> receive, Op op) {
  auto transfer = std::make_unique<Transfer>(*this, receive);
  in_flight_.reserve(in_flight_.size() + 1);
  const Lock lock = exchange_.Acquire();
  exchange_.ThrowIfAborted();
  transfer->operation = &exchange_.Publish(next_++, rank_, op, send);
  in_flight_.push_back(transfer.get());
  return transfer;
}

bool ThreadCommunicator::Pull(Lock& lock, Transfer& transfer) {
  if (transfer.missing == 0) return false;
  auto& slots = transfer.operation->slots;
  const auto self = Index(rank_);
  const std::size_t ranks = slots.size();
  ready_.clear();
  // Ranks begin with the one after them, so that they do not all read the same memory at once.
  for (std::size_t k = 1; k < ranks; ++k) {
    const std::size_t r = (self + k) % ranks;
    if (transfer.taken[r] || !slots[r].published || slots[r].abandoned) continue;
    if (slots[r].send[self].size() != transfer.receive[r].size()) {
      throw std::logic_error(fmt::format("rank {} sends {} bytes to rank {}, which expects {}", r,
                                         slots[r].send[self].size(), rank_, transfer.receive[r].size()));
    }
    ready_.push_back(static_cast<int>(r));
  }
  if (ready_.empty()) return false;
  for (int peer : ready_) {
    ++slots[Index(peer)].copying;
    transfer.taken[Index(peer)] = true;
  }
  transfer.missing -= static_cast<int>(ready_.size());

  lock.unlock();
  for (int peer : ready_) {
    const auto r = Index(peer);
    const SendPart part = slots[r].send[self];
    if (!part.empty()) std::memcpy(transfer.receive[r].data(), part.data(), part.size());
  }
  lock.lock();

  for (int peer : ready_) {
    ThreadExchange::Slot& slot = slots[Index(peer)];
    --slot.copying;
    if (!slot.send[self].empty()) --slot.unpulled;
    if (slot.unpulled == 0 || slot.abandoned) exchange_.Wake(peer);
  }
  return true;
}

bool ThreadCommunicator::PullAll(Lock& lock) {
  bool any = false;
  for (Transfer* transfer : in_flight_) any |= Pull(lock, *transfer);
  return any;
}

void ThreadCommunicator::Progress() {
  Lock lock = exchange_.Acquire();
  exchange_.ThrowIfAborted();
  PullAll(lock);
}

void ThreadCommunicator::Wait(Transfer& transfer, bool until_sent) {
  Lock lock = exchange_.Acquire();
  const auto deadline = exchange_.Deadline();
  const ThreadExchange::Slot& own = transfer.operation->slots[Index(rank_)];
  for (;;) {
    exchange_.ThrowIfAborted();
    const bool pulled = PullAll(lock);
    if (transfer.missing == 0 && (!until_sent || own.unpulled == 0)) break;
    if (!pulled) exchange_.Sleep(lock, rank_, *transfer.operation, deadline);
  }
  if (until_sent) Forget(transfer);
}

void ThreadCommunicator::Forget(Transfer& transfer) {
  exchange_.Done(*transfer.operation);
  std::erase(in_flight_, &transfer);
}

void ThreadCommunicator::Abandon(Transfer& transfer) noexcept {
  Lock lock = exchange_.Acquire();
  exchange_.Abort(rank_, nullptr);
  ThreadExchange::Slot& own = transfer.operation->slots[Index(rank_)];
  own.abandoned = true;
  exchange_.SleepUntil(lock, rank_, [&] { return own.copying == 0; });
  Forget(transfer);
}

void ThreadCommunicator::DoBarrier() {
  const std::vector<SendPart> send(Index(size()));
  const std::vector<ReceivePart> receive(send.size());
  Request(DoStart(send, receive, Op::kBarrier)).Wait();
}

std::vector<std::span<std::byte>> ThreadCommunicator::BeginShare(std::span<std::byte> mine,
                                                                 std::uint64_t* id) {
  using Published = std::span<std::byte>;
  std::vector<Published> all(Index(size()));
  std::vector<SendPart> send(all.size(), std::as_bytes(std::span(&mine, 1)));
  std::vector<ReceivePart> receive(all.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    receive[r] = std::as_writable_bytes(std::span(&all[r], 1));
  }
  all[Index(rank_)] = mine;
  *id = next_;
  auto started = DoStart(send, receive, Op::kShare);
  try {
    Request(std::move(started)).Wait();
    const Lock lock = exchange_.Acquire();
    exchange_.ThrowIfAborted();  // nobody begins to read once ranks are leaving
    exchange_.Hold(rank_, *id);
  } catch (...) {
    AbandonShare(*id);  // a quicker rank may be reading already
    throw;
  }
  return all;
}

void ThreadCommunicator::EndShare(std::uint64_t id) {
  {
    const Lock lock = exchange_.Acquire();
    exchange_.Drop(rank_, id);
  }
  DoBarrier();
}

void ThreadCommunicator::AbandonShare(std::uint64_t id) noexcept {
  Lock lock = exchange_.Acquire();
  exchange_.Abort(rank_, nullptr);
  exchange_.Drop(rank_, id);
  exchange_.SleepUntil(lock, rank_, [&] { return !exchange_.Held(id); });
}

}  // namespace hotrow::internal
