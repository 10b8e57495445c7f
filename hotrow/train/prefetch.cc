#include "hotrow/train/prefetch.h"

#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/machine/start_thread.h"

namespace hotrow {

PrefetchingSource::PrefetchingSource(BatchSource& inner)
    : inner_(inner), thread_(StartThread([this] { Loop(); })) {}

PrefetchingSource::~PrefetchingSource() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PrefetchingSource::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || state_ == State::kRequested; });
    if (stopping_) return;
    lock.unlock();
    failure_ = nullptr;
    try {
      ahead_valid_ = inner_.Next(requested_samples_, ahead_);
    } catch (...) {
      ahead_valid_ = false;
      failure_ = std::current_exception();
    }
    lock.lock();
    state_ = State::kReady;
    changed_.notify_all();
  }
}

// Drops what was read ahead; the thread then waits until the next request.
void PrefetchingSource::Rest() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::kRequested; });
  state_ = State::kIdle;
  failure_ = nullptr;
}

void PrefetchingSource::StartEpoch(std::int64_t epoch) {
  Rest();
  inner_.StartEpoch(epoch);
}

void PrefetchingSource::Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) {
  Rest();
  inner_.Seek(epoch, batches, max_samples);
}

bool PrefetchingSource::Next(std::int64_t max_samples, Batch& batch) {
  std::unique_lock lock(mutex_);
  if (state_ == State::kIdle) {
    requested_samples_ = max_samples;
    state_ = State::kRequested;
    changed_.notify_all();
  }
  HOTROW_CHECK(requested_samples_ == max_samples);
  changed_.wait(lock, [&] { return state_ == State::kReady; });
  if (failure_) {
    state_ = State::kIdle;
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  if (!ahead_valid_) {
    batch.size = 0;
    return false;  // the end of the epoch stays the end until StartEpoch
  }
  std::swap(batch, ahead_);
  state_ = State::kRequested;
  changed_.notify_all();
  return true;
}

}  // namespace hotrow
