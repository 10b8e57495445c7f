#include <chrono>
#include <numeric>
#include <thread>

#include "conformance.h"
#include "hotrow/base/error.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/peer_lists.h"
#include "hotrow/comm/share.h"
#include "hotrow/trace/phase.h"
#include "tests/comm/plain_exchanges.h"

namespace hotrow {
namespace {

// Zero often, now and then more than an eager message of MPI's.
std::int64_t DrawCount(int round, int from, int to) {
  Draw random(round, 1000 + from, to);
  const std::uint64_t kind = random() % 8;
  if (kind < 3) return 0;
  if (kind < 7) return static_cast<std::int64_t>(random() % 20);
  return static_cast<std::int64_t>(random() % 9000);
}

void BarrierHoldsEveryRank(Communicator& comm) {
  for (int late = 0; late < comm.size(); late += 1 + comm.size() / 3) {
    if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double entered = NowSeconds();  // one clock: the ranks of these tests are on one machine
    comm.Barrier();
    const double left = NowSeconds();
    Require(AllReduceMin(comm, left) >= AllReduceMax(comm, entered), "a rank left before all had entered");
  }
}

template <typename T>
void AllToAllV(Communicator& comm) {
  const int ranks = comm.size();
  for (int round = 0; round < Rounds(comm, 12); ++round) {
    std::vector<std::int64_t> send_counts;
    std::vector<std::int64_t> expected_counts;
    std::vector<T> send;
    std::vector<T> expected;
    for (int r = 0; r < ranks; ++r) {
      send_counts.push_back(DrawCount(round, comm.rank(), r));
      expected_counts.push_back(DrawCount(round, r, comm.rank()));
      const auto mine = DrawValues<T>(round, comm.rank(), r, send_counts.back());
      const auto theirs = DrawValues<T>(round, r, comm.rank(), expected_counts.back());
      send.insert(send.end(), mine.begin(), mine.end());
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    std::vector<std::int64_t> counts(send_counts.size());
    AllToAll<std::int64_t>(comm, send_counts, counts);
    Require(counts == expected_counts, "round {}: wrong counts", round);
    std::vector<T> received(expected.size());
    StartAllToAllV<T>(comm, send, send_counts, received, counts).Wait();
    Require(received == expected, "round {}: wrong values", round);
  }
}

void AllToAllEven(Communicator& comm) {
  for (int round = 0; round < Rounds(comm, 12); ++round) {
    const std::int64_t count = round * round;  // 0 first
    std::vector<std::uint32_t> send;
    std::vector<std::uint32_t> expected;
    for (int r = 0; r < comm.size(); ++r) {
      const auto mine = DrawValues<std::uint32_t>(round, comm.rank(), r, count);
      const auto theirs = DrawValues<std::uint32_t>(round, r, comm.rank(), count);
      send.insert(send.end(), mine.begin(), mine.end());
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    std::vector<std::uint32_t> received(expected.size());
    AllToAll<std::uint32_t>(comm, send, received);
    Require(received == expected, "round {}: wrong values", round);
  }
}

// Parts land where the receiver says, here in the columns of a matrix read backwards, and nothing else is
// written.
void PartsLandInPlace(Communicator& comm) {
  const int ranks = comm.size();
  std::vector<std::int32_t> landed(static_cast<std::size_t>(3 * ranks), -1);
  std::vector<std::int32_t> send(2, comm.rank());
  Parts<std::int32_t> parts(comm);
  for (int r = 0; r < ranks; ++r) {
    parts.Send(r, send);
    parts.Receive(r, std::span(landed).subspan(static_cast<std::size_t>(3 * (ranks - 1 - r)), 2));
  }
  parts.Start(comm).Wait();
  for (int r = 0; r < ranks; ++r) {
    const std::int32_t* at = landed.data() + 3 * (ranks - 1 - r);
    Require(at[0] == r && at[1] == r && at[2] == -1, "rank {}'s part: {} {} {}", r, at[0], at[1], at[2]);
  }
}

// Only one pair exchanges; all the others have nothing for anyone.
void OnePair(Communicator& comm) {
  const int last = comm.size() - 1;
  for (int round = 0; round < Rounds(comm, 12); ++round) {
    const auto ping = DrawValues<std::uint8_t>(round, 0, last, 1 + round);
    std::vector<std::uint8_t> received(ping.size());
    Parts<std::uint8_t> parts(comm);
    if (comm.rank() == 0) parts.Send(last, ping);
    if (comm.rank() == last) parts.Receive(0, received);
    parts.Start(comm).Wait();
    if (comm.rank() == last) Require(received == ping, "round {}", round);
  }
}

void BroadcastsFromEveryRoot(Communicator& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (std::int64_t count : {0, 1, 3, 5000}) {
      const auto expected = DrawValues<double>(root, root, 0, count);
      std::vector<double> data =
          comm.rank() == root ? expected : std::vector<double>(static_cast<std::size_t>(count));
      Broadcast<double>(comm, data, root);
      Require(SameBits<double>(data, expected), "root {}", root);
    }
  }
}

void AllGathers(Communicator& comm) {
  const int ranks = comm.size();
  for (int round = 0; round < Rounds(comm, 12); ++round) {
    std::vector<std::vector<std::int64_t>> expected;
    std::vector<std::int64_t> even;
    for (int r = 0; r < ranks; ++r) {
      expected.push_back(DrawValues<std::int64_t>(round, r, 0, DrawCount(round, r, 0)));
      const auto part = DrawValues<std::int64_t>(round, r, 1, round);
      even.insert(even.end(), part.begin(), part.end());
    }
    const auto& mine = expected[static_cast<std::size_t>(comm.rank())];
    Require(AllGatherV<std::int64_t>(comm, mine) == expected, "round {}: uneven", round);

    std::vector<std::int64_t> all(even.size());
    AllGather<std::int64_t>(comm, DrawValues<std::int64_t>(round, comm.rank(), 1, round), all);
    Require(all == even, "round {}: even", round);
  }
  std::vector<std::string> expected;
  for (int r = 0; r < ranks; ++r) expected.emplace_back(static_cast<std::size_t>(r) * 1000, 'a');
  const int root = ranks - 1;
  const auto texts = GatherText(comm, expected[static_cast<std::size_t>(comm.rank())], root);
  Require(texts == (comm.rank() == root ? expected : std::vector<std::string>()), "texts");
}

void MaximumAndMinimum(Communicator& comm) {
  const int ranks = comm.size();
  Require(AllReduceMax(comm, 2.5 * comm.rank()) == 2.5 * (ranks - 1), "maximum");
  Require(AllReduceMin(comm, -comm.rank()) == 1 - ranks, "minimum");
  std::vector<std::int64_t> values = {comm.rank(), -comm.rank()};
  AllReduceMax<std::int64_t>(comm, values);
  Require(values == std::vector<std::int64_t>{ranks - 1, 0}, "maxima");
  AllReduceMax<std::int64_t>(comm, std::span<std::int64_t>());
}

void Agreement(Communicator& comm) {
  std::string text = "the same everywhere";
  CheckAgreement(comm, std::as_bytes(std::span(text)), "text");
  CheckAgreement(comm, {}, "nothing");
  if (comm.size() < 3) return;
  if (comm.rank() == 1) text += "!";
  const std::string message =
      Thrown<Error>([&] { CheckAgreement(comm, std::as_bytes(std::span(text)), "text"); });
  Require(message.find("text: 1 of") == 0 && message.find("others: 1;") != std::string::npos, "said: '{}'",
          message);
}

void CountsBytesSentToOthers(Communicator& comm) {
  const std::int64_t peers = comm.size() - 1;
  comm.ResetSent();
  comm.Barrier();
  AllGather<std::int32_t>(comm, 7);
  Require(comm.sent(Op::kAllGather) == 4 * peers, "all-gather: {}", comm.sent(Op::kAllGather));
  std::vector<std::int64_t> data(3);
  Broadcast<std::int64_t>(comm, data, 0);
  Require(comm.sent(Op::kBroadcast) == (comm.rank() == 0 ? 24 * peers : 0), "broadcast");
  Require(comm.sent() == comm.sent(Op::kAllGather) + comm.sent(Op::kBroadcast), "total: {}", comm.sent());
  comm.ResetSent();
  Require(comm.sent() == 0, "after the reset: {}", comm.sent());
}

// Where ranks share memory they read one another's in place; elsewhere there is no share to be had.
void SharesMemory(Communicator& comm) {
  std::vector<std::int64_t> mine(static_cast<std::size_t>(1 + comm.rank()), comm.rank());
  if (!comm.shares_memory()) {
    const std::string message = Thrown<std::logic_error>([&] { Share<std::int64_t>(comm, mine); });
    Require(!message.empty(), "no error");
    return;
  }
  for (int round = 0; round < Rounds(comm, 12); ++round) {
    std::fill(mine.begin(), mine.end(), comm.rank() + round);
    Share<std::int64_t> share(comm, mine);
    const auto own = static_cast<std::size_t>(comm.rank());
    Require(share.spans()[own].data() == mine.data(), "a copy");
    for (int r = 0; r < comm.size(); ++r) {
      const auto theirs = share.spans()[static_cast<std::size_t>(r)];
      Require(theirs.size() == static_cast<std::size_t>(1 + r), "size of rank {}'s", r);
      for (std::int64_t value : theirs) Require(value == r + round, "rank {} has {}", r, value);
    }
    if (round % 2 == 0) share.Release();  // else its end does
  }
}

// Lists of every rank, in place or as copies, some of them empty.
void ReadsPeersLists(Communicator& comm) {
  PeerLists lists(comm);
  for (int round = 0; round < Rounds(comm, 6); ++round) {
    const auto words = [&](int rank) {
      return std::vector<std::int64_t>((rank + round) % 3, 10 * rank + round);
    };
    const auto letters = [&](int rank) { return std::vector<char>(rank * 37 % 70, static_cast<char>(rank)); };
    const std::vector<std::int64_t> mine = words(comm.rank());
    const std::vector<char> mine_too = letters(comm.rank());
    const std::vector<std::span<const std::byte>> own = {std::as_bytes(std::span(mine)),
                                                         std::as_bytes(std::span(mine_too))};
    lists.Open(own);
    for (int r = 0; r < comm.size(); ++r) {
      Require(std::ranges::equal(lists.list<std::int64_t>(r, 0), words(r)), "words of rank {}", r);
      Require(std::ranges::equal(lists.list<char>(r, 1), letters(r)), "letters of rank {}", r);
    }
    lists.Release();
  }
}

}  // namespace

std::vector<ConformanceCase> ExchangeCases() {
  return {{"BarrierHoldsEveryRank", BarrierHoldsEveryRank},
          {"AllToAllVOfBytes", AllToAllV<std::uint8_t>},
          {"AllToAllVOfWords", AllToAllV<std::uint64_t>},
          {"AllToAllEven", AllToAllEven},
          {"PartsLandInPlace", PartsLandInPlace},
          {"OnePair", OnePair},
          {"BroadcastsFromEveryRoot", BroadcastsFromEveryRoot},
          {"AllGathers", AllGathers},
          {"MaximumAndMinimum", MaximumAndMinimum},
          {"Agreement", Agreement},
          {"CountsBytesSentToOthers", CountsBytesSentToOthers},
          {"ReadsPeersLists", ReadsPeersLists},
          {"SharesMemory", SharesMemory}};
}

}  // namespace hotrow
