#include "hotrow/trace/chrome_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/files/text_writer.h"

namespace hotrow {
namespace {

constexpr std::uint64_t kMagic = 0x31454341525452u;  // "RTRACE1"

struct Header {
  std::uint64_t magic = kMagic;
  std::int64_t rank = 0;
  std::int64_t clock_offset_ns = 0;
  std::int64_t clock_error_ns = 0;
  std::int64_t dropped = 0;
  std::int64_t host_bytes = 0;
  std::int64_t events = 0;
};

// Writes beside the path, and takes its place at the end.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path) : file_(path) {}

  // An element of the list of events.
  template <typename... Args>
  void Event(fmt::format_string<Args...> format, Args&&... args) {
    file_.Print("{}", first_ ? "{\"traceEvents\":[\n" : ",\n");
    first_ = false;
    file_.Print(format, std::forward<Args>(args)...);
  }
  void Close() {
    if (first_) file_.Print("{}", "{\"traceEvents\":[");
    file_.Print("{}", "\n],\"displayTimeUnit\":\"ms\"}\n");
    file_.Finish();
  }

 private:
  TextWriter file_;
  bool first_ = true;
};

// Microseconds with the nanoseconds behind the point.
std::string Microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

void WriteNames(TraceFile& file, const RankTrace& trace) {
  const std::string process = fmt::format("rank {} on {}", trace.rank, trace.host);
  const auto quoted = nlohmann::json(process).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  file.Event(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", trace.rank, quoted);
  file.Event(R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})", trace.rank,
             trace.rank);
  file.Event(R"({{"ph":"M","pid":{},"name":"hotrow","args":{{"clock_error_us":{},"dropped_events":{}}}}})",
             trace.rank, Microseconds(trace.clock_error_ns), trace.dropped);
  std::int16_t threads = 0;
  for (const TraceEvent& event : trace.events) threads = std::max(threads, event.thread);
  for (int thread = 0; thread <= threads; ++thread) {
    file.Event(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"thread {}"}}}})",
               trace.rank, thread, thread);
  }
}

void WriteEvent(TraceFile& file, const RankTrace& trace, const TraceEvent& event, std::int64_t origin_ns) {
  const std::string_view name = TraceNameText(event.name);
  const std::string begin = Microseconds(event.begin_ns + trace.clock_offset_ns - origin_ns);
  if (event.is_count) {
    file.Event(R"({{"ph":"C","pid":{},"ts":{},"name":"{} bytes","args":{{"bytes":{}}}}})", trace.rank, begin,
               name, event.bytes);
  } else {
    const std::string step = event.step >= 0 ? fmt::format(R"("step":{})", event.step) : "";
    file.Event(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}","args":{{{}}}}})", trace.rank,
               event.thread, begin, Microseconds(event.end_ns - event.begin_ns), name, step);
  }
}

}  // namespace

std::string SerializeTrace(const RankTrace& trace) {
  static_assert(std::is_trivially_copyable_v<TraceEvent>);
  const Header header{kMagic,
                      trace.rank,
                      trace.clock_offset_ns,
                      trace.clock_error_ns,
                      trace.dropped,
                      static_cast<std::int64_t>(trace.host.size()),
                      static_cast<std::int64_t>(trace.events.size())};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += trace.host;
  bytes.append(reinterpret_cast<const char*>(trace.events.data()), trace.events.size() * sizeof(TraceEvent));
  return bytes;
}

RankTrace ParseTrace(std::string_view bytes) {
  Header header;
  // Before memory is made for what the bytes only claim to hold; a count below 0 is a large one.
  const auto expect = [&](std::uint64_t count, std::size_t size) {
    if (count > bytes.size() / size)
      FailSystem("a rank's trace is cut short: {} bytes are left for {} times {}", bytes.size(), count, size);
  };
  const auto take = [&](void* to, std::size_t count) {
    if (count > 0) std::memcpy(to, bytes.data(), count);
    bytes.remove_prefix(count);
  };
  expect(1, sizeof(header));
  take(&header, sizeof(header));
  if (header.magic != kMagic) FailSystem("a rank's trace does not begin like one");
  RankTrace trace;
  trace.rank = static_cast<int>(header.rank);
  trace.clock_offset_ns = header.clock_offset_ns;
  trace.clock_error_ns = header.clock_error_ns;
  trace.dropped = header.dropped;
  expect(static_cast<std::uint64_t>(header.host_bytes), 1);
  trace.host.resize(Index(header.host_bytes));
  take(trace.host.data(), trace.host.size());
  expect(static_cast<std::uint64_t>(header.events), sizeof(TraceEvent));
  trace.events.resize(Index(header.events));
  take(trace.events.data(), trace.events.size() * sizeof(TraceEvent));
  if (!bytes.empty()) FailSystem("a rank's trace has {} bytes behind its end", bytes.size());
  return trace;
}

void WriteChromeTrace(const std::string& path, std::span<const RankTrace> ranks) {
  std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const RankTrace& trace : ranks) {
    for (const TraceEvent& event : trace.events) {
      origin_ns = std::min(origin_ns, event.begin_ns + trace.clock_offset_ns);
    }
  }
  TraceFile file(path);
  for (const RankTrace& trace : ranks) {
    WriteNames(file, trace);
    for (const TraceEvent& event : trace.events) WriteEvent(file, trace, event, origin_ns);
  }
  file.Close();
}

}  // namespace hotrow
