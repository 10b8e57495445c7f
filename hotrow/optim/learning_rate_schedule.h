#pragma once
// How the learning rate changes over a run: a factor of every optimizer's own rate, as a pure function of the
// step.

#include <cstdint>
#include <string>

namespace hotrow {

enum class ScheduleKind { kConstant, kPoly, kCosine };

/// Step s counts from 1. W, S, D and f are warmup_steps, decay_start, decay_steps and floor.
///   s < W                    s / W: linear warm-up
///   W <= s <= S              1
///   S < s, p = (s - S) / D   constant  1
///                            poly      max(f, (1 - p)^2)                 until p = 1, then f
///                            cosine    f + (1 - f) (1 + cos(pi p)) / 2   until p = 1, then f
/// Warm-up and poly are those of MLPerf's DLRM reference (LRPolicyScheduler), whose rate stays at its last
/// value between a warm-up and a later decay where this one is 1, and whose floor is an absolute 1e-7.
struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::kConstant;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_start = 0;
  std::int64_t decay_steps = 0;
  double floor = 0.0;

  friend bool operator==(const LearningRateSchedule&, const LearningRateSchedule&) = default;
};

/// Throws Error naming the field: steps are >= 0, decay_steps >= 1 for poly and cosine and 0 for constant,
/// decay_start not inside the warm-up, floor in [0, 1] and 0 for constant.
void Validate(const LearningRateSchedule& schedule);

/// The factor of step `step` (from 1), in [0, 1].
double RateFactor(const LearningRateSchedule& schedule, std::int64_t step);

/// "constant", "poly", "cosine" and back; throws Error listing them.
ScheduleKind ParseScheduleKind(const std::string& text);
std::string ToString(ScheduleKind kind);

/// All of it as one line of text: equal texts, equal schedules.
std::string ToString(const LearningRateSchedule& schedule);

}  // namespace hotrow
