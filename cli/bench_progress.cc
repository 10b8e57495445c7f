#include "cli/bench_progress.h"

#include <fmt/core.h>

#include "hotrow/trace/phase.h"

namespace hotrow::cli {

void BenchProgress::operator()(std::int64_t done) {
  constexpr double kPause = 2;
  const double now = NowSeconds();
  if (now < next_) return;
  next_ = now + kPause;
  PrintProgress(flags_, done <= warmup_ ? fmt::format("warm-up step {} of {}", done, warmup_)
                                        : fmt::format("step {} of {}", done - warmup_, steps_));
}

}  // namespace hotrow::cli
