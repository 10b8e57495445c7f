#include "hotrow/comm/communicator.h"

#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    Finish();
    pending_ = std::move(other.pending_);
    exceptions_ = other.exceptions_;
  }
  return *this;
}

void Request::WaitReceived() {
  if (pending_) pending_->WaitReceived();
}

void Request::Wait() {
  if (!pending_) return;
  pending_->Wait();
  pending_.reset();
}

void Request::Finish() noexcept {
  if (!pending_) return;
  if (std::uncaught_exceptions() <= exceptions_) {
    try {
      Wait();
      return;
    } catch (...) {  // the next collective throws it again
    }
  }
  pending_->Abandon();
  pending_.reset();
}

void Communicator::Barrier() { DoBarrier(); }

Request Communicator::StartAllToAll(std::span<const SendPart> send, std::span<const ReceivePart> receive,
                                    Op op) {
  const auto ranks = Index(size());
  const auto self = Index(rank());
  HOTROW_CHECK(send.size() == ranks && receive.size() == ranks);
  HOTROW_CHECK(send[self].size() == receive[self].size());
  if (!send[self].empty() && send[self].data() != receive[self].data()) {
    std::memcpy(receive[self].data(), send[self].data(), send[self].size());
  }
  auto pending = DoStart(send, receive, op);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (r != self) sent_[static_cast<std::size_t>(op)] += static_cast<std::int64_t>(send[r].size());
  }
  return Request(std::move(pending));
}

std::int64_t Communicator::sent() const {
  return std::accumulate(sent_.begin(), sent_.end(), std::int64_t{0});
}

std::vector<std::span<std::byte>> Communicator::BeginShare(std::span<std::byte> /*mine*/,
                                                           std::uint64_t* /*id*/) {
  throw std::logic_error("these ranks cannot read one another's memory");
}

void Communicator::EndShare(std::uint64_t /*id*/) {}

void Communicator::AbandonShare(std::uint64_t /*id*/) noexcept {}

}  // namespace hotrow
