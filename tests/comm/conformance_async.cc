#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "conformance.h"
#include "hotrow/comm/clock_offset.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/trace/tracer.h"
#include "tests/comm/plain_exchanges.h"

namespace hotrow {
namespace {

// An all-to-all of `count` words a peer, in flight.
struct Flight {
  Flight(Communicator& comm, int number, std::int64_t count) : round(number) {
    for (int r = 0; r < comm.size(); ++r) {
      const auto part = DrawValues<std::uint64_t>(round, comm.rank(), r, count);
      send.insert(send.end(), part.begin(), part.end());
      const auto theirs = DrawValues<std::uint64_t>(round, r, comm.rank(), count);
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    received.resize(send.size());
    request = StartAllToAll<std::uint64_t>(comm, send, received);
  }
  void Check() const { Require(received == expected, "exchange {}: wrong values", round); }

  int round;
  std::vector<std::uint64_t> send;
  std::vector<std::uint64_t> received;
  std::vector<std::uint64_t> expected;
  Request request;
};

constexpr std::int64_t kCounts[] = {0, 1, 100, 20000};

void WaitsInAnyOrder(Communicator& comm) {
  for (int round = 0; round < Rounds(comm, 6); ++round) {
    std::vector<Flight> flights;
    flights.reserve(4);
    for (int k = 0; k < 4; ++k) flights.emplace_back(comm, 10 * round + k, kCounts[(round + k) % 4]);
    // Every rank in an order of its own: even ones from the last, odd ones from the first.
    for (int k = 0; k < 4; ++k) {
      Flight& flight = flights[static_cast<std::size_t>(comm.rank() % 2 == 0 ? 3 - k : k)];
      flight.request.Wait();
      Require(!flight.request.pending(), "still pending");
      flight.Check();
    }
  }
}

void CollectivesWhileOneIsInFlight(Communicator& comm) {
  for (int round = 0; round < Rounds(comm, 4); ++round) {
    Flight flight(comm, round, kCounts[3 - round]);
    comm.Barrier();
    Require(AllReduceSum<std::int64_t>(comm, 1) == comm.size(), "sum");
    std::vector<double> data(2000, 1.0);
    AllReduceSum<double>(comm, data);
    Require(data[1999] == comm.size(), "sums");
    comm.Progress();
    flight.request.Wait();
    flight.Check();
  }
}

void SumsInFlight(Communicator& comm) {
  PendingSum<float> sum;
  for (int round = 0; round < Rounds(comm, 4); ++round) {
    std::vector<float> gradient(static_cast<std::size_t>(600 * (1 + round)),
                                static_cast<float>(1 + comm.rank()));
    sum.StartAllReduce(comm, gradient);
    Flight flight(comm, round, 500);
    flight.request.Wait();
    flight.Check();
    sum.Wait();
    const auto expected = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
    for (float value : gradient) Require(value == expected, "{} instead of {}", value, expected);
  }
}

void ReceivedBeforeAllIsTaken(Communicator& comm) {
  Flight flight(comm, 3, 3000);
  flight.request.WaitReceived();
  flight.Check();
  flight.request.WaitReceived();
  flight.request.Wait();
  flight.request.Wait();  // nothing to do
}

void DroppedRequestsAreWaitedFor(Communicator& comm) {
  for (int round = 0; round < Rounds(comm, 3); ++round) {
    Flight flight(comm, round, 2000);
    { const Request dropped = std::move(flight.request); }
    flight.Check();
    Flight assigned(comm, round + 50, 2000);
    assigned.request = Request();
    assigned.Check();
  }
}

// With progress alone the data arrives; nobody has waited yet.
void ProgressMovesData(Communicator& comm) {
  Flight flight(comm, 9, 3);
  comm.Barrier();
  for (int k = 0; k < 100; ++k) comm.Progress();
  flight.request.Wait();
  flight.Check();
}

void SlowRanks(Communicator& comm) {
  for (int round = 0; round < Rounds(comm, 3); ++round) {
    Flight flight(comm, round, 1000);
    if (comm.rank() == round % comm.size()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    flight.request.Wait();
    flight.Check();
  }
}

// Every rank's clock runs a second ahead of the last one's.
void ClocksAreCompared(Communicator& comm) {
  if (comm.size() > 8) return;  // a thousand exchanges there, one rank after the other
  const auto clock = [&] { return TraceNow() + 1'000'000'000 * static_cast<std::int64_t>(comm.rank()); };
  const ClockOffset offset = MeasureClockOffset(comm, clock);
  const std::int64_t truth = -1'000'000'000 * static_cast<std::int64_t>(comm.rank());
  Require(std::abs(offset.offset_ns - truth) <= offset.error_ns, "{} instead of {}, within {}",
          offset.offset_ns, truth, offset.error_ns);
  Require(offset.error_ns < 1'000'000'000, "error {}", offset.error_ns);
}

void TracesAreGathered(Communicator& comm) {
  Tracer tracer;
  for (int i = 0; i <= comm.rank(); ++i) tracer.AddSpan(TraceName::kStep, TraceNow(), TraceNow());
  // Rank 0's is the one that counts.
  const std::string directory =
      (std::filesystem::temp_directory_path() / fmt::format("hotrow_trace_{}", getpid())).string();
  WriteTrace(comm, tracer, directory + "/made");
  if (comm.rank() != 0) return;
  std::ifstream file(directory + "/made/trace.json");
  std::stringstream text;
  text << file.rdbuf();
  std::filesystem::remove_all(directory);
  for (int r = 0; r < comm.size(); ++r) {
    const std::string span = fmt::format("\"ph\":\"X\",\"pid\":{},", r);
    int spans = 0;
    for (auto at = text.str().find(span); at != std::string::npos; at = text.str().find(span, at + 1))
      ++spans;
    Require(spans == r + 1, "{} spans of rank {}", spans, r);
  }
}

}  // namespace

std::vector<ConformanceCase> AsyncCases() {
  return {{"WaitsInAnyOrder", WaitsInAnyOrder},
          {"CollectivesWhileOneIsInFlight", CollectivesWhileOneIsInFlight},
          {"SumsInFlight", SumsInFlight},
          {"ReceivedBeforeAllIsTaken", ReceivedBeforeAllIsTaken},
          {"DroppedRequestsAreWaitedFor", DroppedRequestsAreWaitedFor},
          {"ProgressMovesData", ProgressMovesData},
          {"SlowRanks", SlowRanks},
          {"ClocksAreCompared", ClocksAreCompared},
          {"TracesAreGathered", TracesAreGathered}};
}

}  // namespace hotrow
