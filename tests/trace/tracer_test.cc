#include "hotrow/trace/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace hotrow {
namespace {

TEST(TraceNames, ArePhasesFirstAndAllDifferent) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kTraceNames; ++i) names.push_back(TraceNameText(static_cast<TraceName>(i)));
  EXPECT_EQ(TraceNameText(ToTraceName(Phase::kSparseBackward)), "sparse_backward");
  EXPECT_EQ(TraceNameText(TraceName::kStep), "step");
  EXPECT_EQ(TraceNameText(TraceName::kCheckpoint), "checkpoint");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Tracer, KeepsSpansAndBytesWithTheirStep) {
  Tracer tracer;
  tracer.AddSpan(TraceName::kReadBatch, 10, 30);
  tracer.SetStep(7);
  const std::int64_t before = TraceNow();
  tracer.AddBytes(ToTraceName(Phase::kInputDist), 4096);
  const auto events = tracer.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], (TraceEvent{10, 30, 0, -1, 0, TraceName::kReadBatch, false}));
  EXPECT_EQ(events[1].bytes, 4096);
  EXPECT_EQ(events[1].step, 7);
  EXPECT_TRUE(events[1].is_count);
  EXPECT_GE(events[1].begin_ns, before);
}

TEST(Tracer, SpansCoverTheirScopes) {
  Tracer tracer;
  PhaseTimes times;
  {
    const TraceSpan outer(&tracer, TraceName::kStep);
    const TracedPhase inner(times, &tracer, Phase::kDense);
  }
  const auto events = tracer.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(TraceNameText(events[0].name), "dense");  // the inner one ends first
  EXPECT_EQ(events[1].name, TraceName::kStep);
  EXPECT_LE(events[1].begin_ns, events[0].begin_ns);
  EXPECT_LE(events[0].begin_ns, events[0].end_ns);
  EXPECT_LE(events[0].end_ns, events[1].end_ns);
  EXPECT_GT(times.seconds(Phase::kDense), 0);
}

TEST(Tracer, EveryThreadHasItsOwnRow) {
  Tracer tracer(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&tracer, t] {
      for (int i = 0; i < 1000; ++i) tracer.AddSpan(TraceName::kUnit, i, i + t, t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto events = tracer.events();
  ASSERT_EQ(events.size(), 4000u);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].thread, i / 1000);
    EXPECT_EQ(events[i].begin_ns, i % 1000);
    EXPECT_EQ(events[i].end_ns, i % 1000 + i / 1000);
  }
}

TEST(Tracer, CountsWhatIsTooMuchToKeep) {
  Tracer tracer(2, /*max_events=*/3);
  for (int i = 0; i < 5; ++i) tracer.AddSpan(TraceName::kUnit, i, i, 1);
  tracer.AddSpan(TraceName::kUnit, 9, 9, 0);
  EXPECT_EQ(tracer.events().size(), 4u);
  EXPECT_EQ(tracer.dropped(), 2);
}

// Off, a span must not even read the clock, which takes some 20 ns twice. The best of many tries, since the
// machine may be busy.
TEST(Tracer, CostsNothingWhenOff) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "not an optimised build";
#endif
  constexpr int kSpans = 10000;
  Tracer* volatile off = nullptr;
  std::int64_t best = INT64_MAX;
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t begin = TraceNow();
    for (int i = 0; i < kSpans; ++i) const TraceSpan span(off, TraceName::kUnit);
    best = std::min(best, TraceNow() - begin);
  }
  EXPECT_LT(best, 10 * kSpans);
}

}  // namespace
}  // namespace hotrow
