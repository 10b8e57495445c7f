#include "hotrow/trace/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using testing::HasSubstr;

RankTrace Example(int rank, std::int64_t clock_offset_ns) {
  RankTrace trace;
  trace.rank = rank;
  trace.host = "node\"7\"\n";
  trace.clock_offset_ns = clock_offset_ns;
  trace.clock_error_ns = 1500;
  trace.dropped = 3;
  trace.events = {{1'000'000, 1'002'500, 0, 4, 0, ToTraceName(Phase::kDense), false},
                  {1'000'007, 1'000'007, 812, 4, 2, ToTraceName(Phase::kOutputDist), true}};
  return trace;
}

nlohmann::json Written(std::span<const RankTrace> ranks) {
  const std::string path = testing::TempDir() + "/hotrow_trace_test." + std::to_string(getpid()) + ".json";
  WriteChromeTrace(path, ranks);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  std::filesystem::remove(path);
  return json;
}

TEST(ChromeTrace, PutsAllRanksOnOneClock) {
  // Rank 1's clock is 0.5 s ahead of rank 0's; both begin at once by their own.
  const std::vector<RankTrace> ranks = {Example(0, 0), Example(1, -500'000'000)};
  const auto json = Written(ranks);
  std::vector<nlohmann::json> spans;
  std::vector<nlohmann::json> counts;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
    if (event["ph"] == "C") counts.push_back(event);
  }
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["name"], "dense");
  EXPECT_EQ(spans[0]["pid"], 0);
  EXPECT_DOUBLE_EQ(spans[0]["ts"], 500'000.0);  // microseconds from the first event, rank 1's
  EXPECT_DOUBLE_EQ(spans[0]["dur"], 2.5);
  EXPECT_EQ(spans[0]["args"]["step"], 4);
  EXPECT_EQ(spans[1]["pid"], 1);
  EXPECT_DOUBLE_EQ(spans[1]["ts"], 0.0);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0]["name"], "output_dist bytes");
  EXPECT_EQ(counts[0]["args"]["bytes"], 812);
  EXPECT_DOUBLE_EQ(counts[1]["ts"], 0.007);
}

TEST(ChromeTrace, WhatIsOutsideAnyStepHasNone) {
  RankTrace outside = Example(0, 0);
  for (TraceEvent& event : outside.events) event.step = -1;
  const auto json = Written(std::vector{outside});
  int spans = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["args"], nlohmann::json::object());
    ++spans;
  }
  EXPECT_GT(spans, 0);
}

TEST(ChromeTrace, NamesRanksHostsAndThreads) {
  const auto json = Written(std::vector{Example(3, 0)});
  std::string process;
  int dropped = 0;
  std::vector<std::string> threads;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "process_name") process = event["args"]["name"];
    if (event["name"] == "thread_name") threads.push_back(event["args"]["name"]);
    if (event["name"] == "hotrow") dropped = event["args"]["dropped_events"];
  }
  EXPECT_EQ(process, "rank 3 on node\"7\"\n");
  EXPECT_EQ(dropped, 3);
  EXPECT_THAT(threads, testing::ElementsAre("thread 0", "thread 1", "thread 2"));
}

TEST(ChromeTrace, NothingIsAWholeFileToo) {
  EXPECT_TRUE(Written({})["traceEvents"].empty());
  EXPECT_FALSE(Written(std::vector<RankTrace>(1))["traceEvents"].empty());
}

TEST(ChromeTrace, SaysWhereItCannotWrite) {
  try {
    WriteChromeTrace("/nowhere/trace.json", {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/trace.json: cannot write: No such file"));
  }
  // A full disk is noticed at the latest when the file is closed; the device is written in place.
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_THROW(WriteChromeTrace("/dev/full", {}), SystemError);
  }
}

TEST(SerializeTrace, ReadsBack) {
  const RankTrace trace = Example(5, -42);
  const RankTrace back = ParseTrace(SerializeTrace(trace));
  EXPECT_EQ(back.rank, 5);
  EXPECT_EQ(back.host, trace.host);
  EXPECT_EQ(back.clock_offset_ns, -42);
  EXPECT_EQ(back.clock_error_ns, 1500);
  EXPECT_EQ(back.dropped, 3);
  EXPECT_EQ(back.events, trace.events);
  EXPECT_TRUE(ParseTrace(SerializeTrace(RankTrace())).events.empty());
}

TEST(SerializeTrace, RefusesWhatIsNotOne) {
  const std::string bytes = SerializeTrace(Example(0, 0));
  for (std::size_t size : {std::size_t{0}, std::size_t{20}, bytes.size() - 1}) {
    EXPECT_THROW(ParseTrace(std::string_view(bytes).substr(0, size)), SystemError);
  }
  std::string other = bytes;
  other[0] = 'x';
  EXPECT_THROW(ParseTrace(other), SystemError);
  EXPECT_THROW(ParseTrace(bytes + "x"), SystemError);
}

// No memory is asked for by them, and no product of them wraps around.
TEST(SerializeTrace, RefusesCountsThatTheBytesDoNotHold) {
  const std::string bytes = SerializeTrace(Example(0, 0));
  constexpr std::size_t kHostBytes = 5 * sizeof(std::int64_t);  // the header's last two numbers
  constexpr std::size_t kEvents = 6 * sizeof(std::int64_t);
  constexpr std::int64_t kWraps = (std::int64_t{1} << 62) / static_cast<std::int64_t>(sizeof(TraceEvent)) * 4;
  for (const std::size_t place : {kHostBytes, kEvents}) {
    for (const std::int64_t count :
         {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 40, kWraps,
          std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
      std::string bad = bytes;
      std::memcpy(bad.data() + place, &count, sizeof(count));
      EXPECT_THROW(ParseTrace(bad), SystemError) << place << " " << count;
    }
  }
}

}  // namespace
}  // namespace hotrow
