// To which phase the time of a transfer is charged.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "hotrow/comm/communicator.h"
#include "tests/train/small_model.h"

namespace hotrow {
namespace {

// A world of one rank in which Progress always has something to move.
class BusyRank : public Communicator {
 public:
  static constexpr double kSeconds = 0.005;

  int rank() const override { return 0; }
  int size() const override { return 1; }
  bool shares_memory() const override { return false; }
  void Progress() override {
    ++calls_;
    std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  }
  int calls() const { return calls_; }

 private:
  class Done : public Request::Pending {
    void WaitReceived() override {}
    void Wait() override {}
    void Abandon() noexcept override {}
  };
  void DoBarrier() override {}
  std::unique_ptr<Request::Pending> DoStart(std::span<const SendPart>, std::span<const ReceivePart>,
                                            Op) override {
    return std::make_unique<Done>();
  }
  int calls_ = 0;
};

struct Timed {
  PhaseTimes phases;
  double step_seconds = 0;
  double moving_seconds = 0;  // in Progress, at least
};

Timed StepWithNext(int threads, Tracer* tracer = nullptr) {
  SyntheticSource source(SmallData(std::nullopt));
  ThreadPool pool(threads);
  BusyRank comm;
  Trainer trainer(SmallTrainer(source.description()), comm, pool);
  trainer.set_tracer(tracer);
  Batch batch;
  Batch next;
  if (!source.Next(64, batch) || !source.Next(64, next)) throw std::logic_error("no data");
  const double begin = NowSeconds();
  trainer.Step(batch, &next);
  const Timed run{trainer.phases(), NowSeconds() - begin, comm.calls() * BusyRank::kSeconds};
  trainer.DropNext();
  return run;
}

double Sum(const PhaseTimes& phases) {
  double sum = 0;
  for (int p = 0; p < kPhases; ++p) sum += phases.seconds(static_cast<Phase>(p));
  return sum;
}

TEST(Phases, IdsThatArriveBesideTheTowerAreInputDist) {
  const Timed run = StepWithNext(1);
  ASSERT_EQ(run.moving_seconds, 8 * BusyRank::kSeconds) << "after each of the 8 units";
  EXPECT_GE(run.phases.seconds(Phase::kInputDist), run.moving_seconds);
  EXPECT_GE(run.phases.seconds(Phase::kDense), 0);
  EXPECT_LE(Sum(run.phases), run.step_seconds) << "no moment is in two phases";
  EXPECT_EQ(run.phases.overlapped(Phase::kInputDist), 0) << "the rank's only thread moves them";
}

// The other thread has units to do while this one moves ids. Which one takes the first unit is not
// determined, so it is tried until it has happened.
TEST(Phases, WhatOtherThreadsWorkMeanwhileIsOverlapped) {
  double overlapped = 0;
  for (int i = 0; i < 1000 && overlapped == 0; ++i) {
    const Timed run = StepWithNext(2);
    overlapped = run.phases.overlapped(Phase::kInputDist);
    EXPECT_LE(overlapped, run.phases.seconds(Phase::kInputDist));
    EXPECT_LE(Sum(run.phases), run.step_seconds);
  }
  EXPECT_GT(overlapped, 0);
}

TEST(Phases, ATraceShowsThemInsideTheDensePhase) {
  Tracer tracer;
  StepWithNext(1, &tracer);
  TraceEvent dense;
  for (const TraceEvent& event : tracer.events())
    if (event.name == ToTraceName(Phase::kDense)) dense = event;
  int inside = 0;
  for (const TraceEvent& event : tracer.events()) {
    inside += !event.is_count && event.name == ToTraceName(Phase::kInputDist) &&
              event.begin_ns >= dense.begin_ns && event.end_ns <= dense.end_ns;
  }
  EXPECT_EQ(inside, 8);
}

}  // namespace
}  // namespace hotrow
