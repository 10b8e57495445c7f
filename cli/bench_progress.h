#pragma once
// How far a benchmark is, on stderr: its steps may take seconds each.

#include <cstdint>

#include "cli/app.h"

namespace hotrow::cli {

/// Says so after the first step, then every two seconds at most; nothing under --quiet. Of one rank, outside
/// of what it times.
class BenchProgress {
 public:
  BenchProgress(const CommonFlags& flags, std::int64_t warmup, std::int64_t steps)
      : flags_(flags), warmup_(warmup), steps_(steps) {}

  /// `done` steps are over, those of the warm-up included.
  void operator()(std::int64_t done);

 private:
  const CommonFlags& flags_;
  std::int64_t warmup_;
  std::int64_t steps_;
  double next_ = 0;  // seconds of NowSeconds
};

}  // namespace hotrow::cli
