#pragma once
// Reads the next batch while this one trains.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "hotrow/data/batch.h"

namespace hotrow {

/// A BatchSource over another one whose batches are made one ahead on a thread of its own. Batches, their
/// order and their errors are the inner source's; an error is thrown by the Next that would have returned
/// that batch, not earlier.
class PrefetchingSource final : public BatchSource {
 public:
  /// `inner` must outlive this and is used by no one else until then. Throws Error when the system gives no
  /// thread.
  explicit PrefetchingSource(BatchSource& inner);
  ~PrefetchingSource() override;

  const DataDescription& description() const override { return inner_.description(); }
  void StartEpoch(std::int64_t epoch) override;
  /// `max_samples` must stay the same within an epoch: the batch ahead was made with it.
  bool Next(std::int64_t max_samples, Batch& batch) override;
  void Seek(std::int64_t epoch, std::int64_t batches, std::int64_t max_samples) override;
  /// The batch ahead may be counted already.
  std::vector<UnknownValues> Unknown() const override { return inner_.Unknown(); }

 private:
  void Loop();
  void Rest();

  BatchSource& inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  enum class State { kIdle, kRequested, kReady } state_ = State::kIdle;  // guarded by mutex_
  bool stopping_ = false;                                                // guarded by mutex_
  std::int64_t requested_samples_ = 0;
  Batch ahead_;                 // owned by the thread while kRequested, by the caller otherwise
  bool ahead_valid_ = false;    // likewise
  std::exception_ptr failure_;  // likewise
  std::thread thread_;
};

}  // namespace hotrow
