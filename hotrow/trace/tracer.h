#pragma once
// What a rank did, and when: spans of time and bytes moved. They are recorded in memory during the traced
// steps, and written once after them (trace/chrome_trace.h). A null Tracer means that tracing is off. It then
// costs one comparison.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hotrow/trace/phase.h"

namespace hotrow {

/// Everything that has a span: the phases of a step, by their own numbers, and these.
enum class TraceName : std::uint8_t {
  kStep = kPhases,
  kReadBatch,  ///< waiting for this rank's next batch and for what the others say of theirs
  kUnit,       ///< one thread's work on one reduction unit
  kVerify,
  kEvaluate,
  kCheckpoint,  ///< the model is written
};
inline constexpr int kTraceNames = kPhases + 6;

constexpr TraceName ToTraceName(Phase phase) { return static_cast<TraceName>(phase); }

/// As the trace shows it: "dense", "step".
std::string_view TraceNameText(TraceName name);

/// Nanoseconds of this host's steady clock.
inline std::int64_t TraceNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct TraceEvent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  ///< of a span
  std::int64_t bytes = 0;   ///< of a count
  std::int32_t step = -1;   ///< -1: outside any
  std::int16_t thread = 0;
  TraceName name = TraceName::kStep;
  bool is_count = false;
  bool operator==(const TraceEvent&) const = default;
};

/// One rank's record. Each of its threads may add to its own at the same time.
class Tracer {
 public:
  /// At most `max_events` are kept for each thread, 40 bytes each; later ones are counted, not kept.
  explicit Tracer(int threads = 1, std::int64_t max_events = std::int64_t{1} << 20);

  /// The step that spans and counts belong to from now on. Not while other threads add.
  void SetStep(std::int64_t step) { step_ = static_cast<std::int32_t>(step); }
  void AddSpan(TraceName name, std::int64_t begin_ns, std::int64_t end_ns, int thread = 0);
  /// `bytes` were moved for `name`, now.
  void AddBytes(TraceName name, std::int64_t bytes, int thread = 0);

  /// All events, thread by thread, in the order in which they were added.
  std::vector<TraceEvent> events() const;
  std::int64_t dropped() const;

 private:
  struct alignas(64) Thread {  // a cache line each: threads add often
    std::vector<TraceEvent> events;
    std::int64_t dropped = 0;
  };
  void Add(const TraceEvent& event);

  std::int64_t max_events_;
  std::int32_t step_ = -1;
  std::vector<Thread> threads_;
};

/// A span from construction to destruction. Does nothing without a tracer, which must outlive it.
class TraceSpan {
 public:
  TraceSpan(Tracer* tracer, TraceName name, int thread = 0)
      : tracer_(tracer), begin_ns_(tracer != nullptr ? TraceNow() : 0), thread_(thread), name_(name) {}
  TraceSpan(Tracer* tracer, Phase phase, int thread = 0) : TraceSpan(tracer, ToTraceName(phase), thread) {}
  ~TraceSpan() {
    if (tracer_ != nullptr) tracer_->AddSpan(name_, begin_ns_, TraceNow(), thread_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  Tracer* tracer_;
  std::int64_t begin_ns_;
  int thread_;
  TraceName name_;
};

/// A phase that is timed and, with a tracer, traced.
class TracedPhase {
 public:
  TracedPhase(PhaseTimes& times, Tracer* tracer, Phase phase) : time_(times, phase), trace_(tracer, phase) {}

 private:
  PhaseSpan time_;
  TraceSpan trace_;
};

}  // namespace hotrow
