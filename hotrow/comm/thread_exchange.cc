#include "hotrow/comm/thread_exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/join.h"

namespace hotrow::internal {

namespace {

std::string_view Name(Op op) { return kOpNames[static_cast<std::size_t>(op)]; }

}  // namespace

ThreadExchange::ThreadExchange(int ranks, double timeout_seconds)
    : ranks_(ranks),
      timeout_seconds_(timeout_seconds),
      sleepers_(Index(ranks)),
      held_(Index(ranks)),
      gone_(Index(ranks), false),
      causes_(Index(ranks)) {}

void ThreadExchange::WakeAll() {
  for (auto& sleeper : sleepers_) sleeper.notify_all();
}

void ThreadExchange::Abort(int rank, std::exception_ptr cause) {
  if (!aborted_) first_failed_ = rank;
  aborted_ = true;
  if (cause && !causes_[Index(rank)]) causes_[Index(rank)] = std::move(cause);
  WakeAll();
}

void ThreadExchange::Leave(int rank) {
  gone_[Index(rank)] = true;
  WakeAll();
}

ThreadExchange::Operation& ThreadExchange::Append(Op op) {
  if (free_.empty()) {
    free_.push_back(std::make_unique<Operation>());
    free_.back()->slots.resize(Index(ranks_));
  }
  live_.push_back(std::move(free_.back()));
  free_.pop_back();
  Operation& operation = *live_.back();
  operation.op = op;
  operation.published = 0;
  operation.left = 0;
  for (Slot& slot : operation.slots) slot.published = false;
  return operation;
}

ThreadExchange::Operation& ThreadExchange::Publish(std::uint64_t sequence, int rank, Op op,
                                                   std::span<const SendPart> send) {
  // Operations are begun in order, so at most one is new.
  Operation& operation = sequence == first_ + live_.size() ? Append(op) : *live_[sequence - first_];
  if (operation.op != op) {
    throw std::logic_error(fmt::format("ranks disagree on their next exchange: rank {} calls {}, another {}",
                                       rank, Name(op), Name(operation.op)));
  }
  Slot& slot = operation.slots[Index(rank)];
  slot.send.assign(send.begin(), send.end());
  slot.unpulled = 0;
  for (int r = 0; r < ranks_; ++r) slot.unpulled += r != rank && !send[Index(r)].empty();
  slot.copying = 0;
  slot.abandoned = false;
  slot.published = true;
  if (++operation.published == ranks_) WakeAll();
  return operation;
}

void ThreadExchange::Done(Operation& operation) {
  ++operation.left;
  while (!live_.empty() && live_.front()->left == ranks_) {
    free_.push_back(std::move(live_.front()));
    live_.pop_front();
    ++first_;
  }
}

ThreadExchange::Clock::time_point ThreadExchange::Deadline() const {
  if (timeout_seconds_ <= 0) return Clock::time_point::max();
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds_));
}

void ThreadExchange::Sleep(Lock& lock, int rank, const Operation& operation, Clock::time_point deadline) {
  for (int r = 0; r < ranks_; ++r) {
    if (!operation.slots[Index(r)].published && gone_[Index(r)]) {
      throw std::logic_error(
          fmt::format("rank {} has returned while rank {} waits for it in {}", r, rank, Name(operation.op)));
    }
  }
  auto& sleeper = sleepers_[Index(rank)];
  if (deadline == Clock::time_point::max()) {
    sleeper.wait(lock);
    return;
  }
  if (sleeper.wait_until(lock, deadline) == std::cv_status::no_timeout || aborted_) return;
  std::vector<std::string> missing;
  for (int r = 0; r < ranks_; ++r) {
    if (!operation.slots[Index(r)].published) missing.push_back(std::to_string(r));
  }
  FailSystem("rank {} has waited {} s in {}; ranks that have not come: {}", rank, timeout_seconds_,
             Name(operation.op), JoinNames(missing));
}

void ThreadExchange::Hold(int rank, std::uint64_t id) { held_[Index(rank)].push_back(id); }

void ThreadExchange::Drop(int rank, std::uint64_t id) {
  std::erase(held_[Index(rank)], id);
  if (aborted_) WakeAll();
}

bool ThreadExchange::Held(std::uint64_t id) const {
  return std::any_of(held_.begin(), held_.end(),
                     [&](const auto& ids) { return std::find(ids.begin(), ids.end(), id) != ids.end(); });
}

void ThreadExchange::RethrowCause() {
  if (!aborted_) return;
  if (causes_[Index(first_failed_)]) std::rethrow_exception(causes_[Index(first_failed_)]);
  for (const auto& cause : causes_) {
    if (cause) std::rethrow_exception(cause);
  }
  throw std::logic_error(fmt::format("rank {} gave up an exchange and went on", first_failed_));
}

}  // namespace hotrow::internal
