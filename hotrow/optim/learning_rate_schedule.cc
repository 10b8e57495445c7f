#include "hotrow/optim/learning_rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

void CheckSteps(const char* field, std::int64_t steps) {
  if (steps < 0) Fail("learning rate schedule: {} is {}, must be >= 0", field, steps);
}

}  // namespace

void Validate(const LearningRateSchedule& schedule) {
  CheckSteps("warmup_steps", schedule.warmup_steps);
  CheckSteps("decay_start", schedule.decay_start);
  CheckSteps("decay_steps", schedule.decay_steps);
  if (!(schedule.floor >= 0.0 && schedule.floor <= 1.0)) {
    Fail("learning rate schedule: floor is {}, must be in [0, 1]: the least factor of the learning rate",
         schedule.floor);
  }
  const std::string kind = ToString(schedule.kind);
  if (schedule.kind == ScheduleKind::kConstant) {
    if (schedule.decay_start > 0) Fail("learning rate schedule: {} has no decay_start", kind);
    if (schedule.decay_steps > 0) Fail("learning rate schedule: {} has no decay_steps", kind);
    if (schedule.floor > 0) Fail("learning rate schedule: {} has no floor", kind);
    return;
  }
  if (schedule.decay_steps == 0) Fail("learning rate schedule: {} needs decay_steps of at least 1", kind);
  if (schedule.decay_start > 0 && schedule.decay_start < schedule.warmup_steps) {
    Fail("learning rate schedule: decay_start is {}, inside the {} steps of the warm-up",
         schedule.decay_start, schedule.warmup_steps);
  }
}

double RateFactor(const LearningRateSchedule& schedule, std::int64_t step) {
  HOTROW_CHECK(step >= 1);
  if (step < schedule.warmup_steps) {
    return static_cast<double>(step) / static_cast<double>(schedule.warmup_steps);
  }
  // A decay without a start of its own follows the warm-up.
  const std::int64_t start = std::max(schedule.decay_start, schedule.warmup_steps);
  if (schedule.kind == ScheduleKind::kConstant || step <= start) return 1.0;
  const std::int64_t decayed = std::min(step - start, schedule.decay_steps);
  const double left =
      static_cast<double>(schedule.decay_steps - decayed) / static_cast<double>(schedule.decay_steps);
  if (schedule.kind == ScheduleKind::kPoly) return std::max(schedule.floor, left * left);
  const double wave = (1.0 + std::cos(std::numbers::pi * (1.0 - left))) / 2.0;
  return schedule.floor + (1.0 - schedule.floor) * (left > 0.0 ? wave : 0.0);
}

ScheduleKind ParseScheduleKind(const std::string& text) {
  if (text == "constant") return ScheduleKind::kConstant;
  if (text == "poly") return ScheduleKind::kPoly;
  if (text == "cosine") return ScheduleKind::kCosine;
  Fail("unknown learning rate schedule '{}', must be one of: constant, poly, cosine", text);
}

std::string ToString(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kConstant:
      return "constant";
    case ScheduleKind::kPoly:
      return "poly";
    case ScheduleKind::kCosine:
      return "cosine";
  }
  HOTROW_CHECK(false);
  return {};
}

std::string ToString(const LearningRateSchedule& schedule) {
  return fmt::format("{} warmup {} decay start {} steps {} floor {}", ToString(schedule.kind),
                     schedule.warmup_steps, schedule.decay_start, schedule.decay_steps, schedule.floor);
}

}  // namespace hotrow
