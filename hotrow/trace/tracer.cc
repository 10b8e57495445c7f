#include "hotrow/trace/tracer.h"

#include <array>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {
namespace {

constexpr std::array<std::string_view, kTraceNames - kPhases> kOtherNames = {
    "step", "read_batch", "unit", "verify", "evaluate", "checkpoint"};

}  // namespace

std::string_view TraceNameText(TraceName name) {
  const auto index = static_cast<std::size_t>(name);
  HOTROW_CHECK(index < Index(kTraceNames));
  return index < kPhaseNames.size() ? kPhaseNames[index] : kOtherNames[index - kPhaseNames.size()];
}

Tracer::Tracer(int threads, std::int64_t max_events) : max_events_(max_events), threads_(Index(threads)) {
  HOTROW_CHECK(threads >= 1 && max_events >= 0);
}

void Tracer::Add(const TraceEvent& event) {
  Thread& thread = threads_[Index(event.thread)];
  if (static_cast<std::int64_t>(thread.events.size()) < max_events_) {
    thread.events.push_back(event);
  } else {
    ++thread.dropped;
  }
}

void Tracer::AddSpan(TraceName name, std::int64_t begin_ns, std::int64_t end_ns, int thread) {
  Add({begin_ns, end_ns, 0, step_, static_cast<std::int16_t>(thread), name, /*is_count=*/false});
}

void Tracer::AddBytes(TraceName name, std::int64_t bytes, int thread) {
  const std::int64_t now = TraceNow();
  Add({now, now, bytes, step_, static_cast<std::int16_t>(thread), name, /*is_count=*/true});
}

std::vector<TraceEvent> Tracer::events() const {
  std::vector<TraceEvent> all;
  for (const Thread& thread : threads_) all.insert(all.end(), thread.events.begin(), thread.events.end());
  return all;
}

std::int64_t Tracer::dropped() const {
  std::int64_t sum = 0;
  for (const Thread& thread : threads_) sum += thread.dropped;
  return sum;
}

}  // namespace hotrow
