#include "hotrow/trace/overlap.h"

#include <gtest/gtest.h>

namespace hotrow {
namespace {

TEST(TaskClock, OneThreadAloneOverlapsNothing) {
  const TaskClock clock(3, 1);
  EXPECT_EQ(clock.Overlapped(1.0, 2.0), 0.0);
}

TEST(TaskClock, OthersWorkUntilTheLastTaskEnds) {
  TaskClock clock(2, 2);
  clock.TaskEnded();
  EXPECT_EQ(clock.Overlapped(1.0, 1.5), 0.5) << "the other task is still to come, or being done";
  const double begin = NowSeconds();
  clock.TaskEnded();
  const double ended = NowSeconds();
  const double overlapped = clock.Overlapped(begin, ended + 10);
  EXPECT_GE(overlapped, 0.0);
  EXPECT_LE(overlapped, ended - begin);
  EXPECT_EQ(clock.Overlapped(ended + 1, ended + 2), 0.0);
  EXPECT_EQ(clock.Overlapped(begin - 2, begin - 1), 1.0);
}

TEST(PhaseTimes, KeepWhatWasOverlappedApart) {
  PhaseTimes times;
  times.Add(Phase::kInputDist, 3);
  times.AddOverlapped(Phase::kInputDist, 2);
  PhaseTimes sum = times;
  sum.Add(times);
  EXPECT_EQ(sum.seconds(Phase::kInputDist), 6);
  EXPECT_EQ(sum.overlapped(Phase::kInputDist), 4);
  EXPECT_EQ(sum.overlapped(Phase::kDense), 0);
  sum.Reset();
  EXPECT_EQ(sum.seconds(Phase::kInputDist) + sum.overlapped(Phase::kInputDist), 0);
}

}  // namespace
}  // namespace hotrow
