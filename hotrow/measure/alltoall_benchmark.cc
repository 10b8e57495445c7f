#include "hotrow/measure/alltoall_benchmark.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

using Word = std::uint32_t;

// Word `index` of what `rank` sends: other on every rank and at every place.
Word SentWord(int rank, std::int64_t index) {
  return static_cast<Word>(rank) * 0x9E3779B1U + static_cast<Word>(index);
}

// One exchange: what this rank sends each rank, in words, and where what it receives goes.
class Exchange {
 public:
  /// first(s, d), words(s, d): where in its send buffer rank s has what rank d receives.
  using Place = std::function<std::int64_t(int from, int to)>;

  Exchange(Communicator& comm, std::int64_t send_words, Place first, Place words)
      : comm_(comm), first_(std::move(first)), words_(std::move(words)) {
    std::int64_t total = 0;
    std::int64_t largest = send_words;
    for (int r = 0; r < comm.size(); ++r) {
      total += words_(r, comm.rank());
      largest = std::max(largest, words_(r, comm.rank()));
    }
    send_.EnsureSize(largest);  // Copy reads it too, also on a rank that sends less than a part it receives
    for (std::int64_t i = 0; i < largest; ++i) send_.data()[i] = SentWord(comm.rank(), i);
    receive_.EnsureSize(total);
    std::fill(receive_.data(), receive_.data() + total, 0);  // pages are there before anything is timed
    Word* place = receive_.data();
    for (int r = 0; r < comm.size(); ++r) {
      receive_parts_.emplace_back(place, Index(words_(r, comm.rank())));
      place += words_(r, comm.rank());
    }
    times_.payload_bytes = total * kWordBytes;
  }

  void Run(bool timed) {
    Parts<Word> parts(comm_);
    for (int r = 0; r < comm_.size(); ++r) {
      parts.Send(r, {send_.data() + first_(comm_.rank(), r), Index(words_(comm_.rank(), r))});
      parts.Receive(r, receive_parts_[Index(r)]);
    }
    comm_.Barrier();
    const double begin = NowSeconds();
    parts.Start(comm_).Wait();
    if (timed) times_.seconds.push_back(NowSeconds() - begin);
  }

  void Copy(bool timed) {
    comm_.Barrier();
    const double begin = NowSeconds();
    std::int64_t from = 0;
    for (const std::span<Word>& part : receive_parts_) {
      const auto size = static_cast<std::int64_t>(part.size());
      from = std::min(from, send_.size() - size);
      std::memcpy(part.data(), send_.data() + from, part.size_bytes());
      from += size;
    }
    if (timed) times_.copy_seconds.push_back(NowSeconds() - begin);
  }

  /// Throws unless every word of the last Run is the one that was meant for this rank and place.
  void CheckReceived() const {
    for (int r = 0; r < comm_.size(); ++r) {
      std::int64_t index = first_(r, comm_.rank());
      for (const Word word : receive_parts_[Index(r)]) HOTROW_CHECK(word == SentWord(r, index++));
    }
  }

  /// The same on every rank.
  ExchangeTimes Result() {
    std::int64_t sent = 0;
    for (int r = 0; r < comm_.size(); ++r) {
      if (r != comm_.rank()) sent += words_(comm_.rank(), r) * kWordBytes;
    }
    const std::vector<std::int64_t> all = AllGather(comm_, sent);
    times_.sent_bytes = std::accumulate(all.begin(), all.end(), std::int64_t{0});
    times_.payload_bytes = AllReduceMax(comm_, times_.payload_bytes);
    AllReduceMax<double>(comm_, times_.seconds);
    AllReduceMax<double>(comm_, times_.copy_seconds);
    return times_;
  }

 private:
  static constexpr std::int64_t kWordBytes = sizeof(Word);

  Communicator& comm_;
  Place first_;
  Place words_;
  Buffer<Word> send_;
  Buffer<Word> receive_;
  std::vector<std::span<Word>> receive_parts_;
  ExchangeTimes times_;
};

std::int64_t IdWords(const AllToAllBenchmarkConfig& config) {
  return CheckedMul(CheckedMul(config.samples, config.ids_per_sample),
                    config.id_bytes / static_cast<int>(sizeof(Word)));
}

}  // namespace

std::int64_t AllToAllMemory(const AllToAllBenchmarkConfig& config, std::int64_t world) {
  const std::int64_t ids = CheckedMul(IdWords(config), world + 1);
  const std::int64_t columns =
      CheckedAdd(config.pooled_columns, CheckedMul(CeilDiv(config.pooled_columns, world), world));
  return CheckedMul(CheckedAdd(ids, CheckedMul(config.samples, columns)), sizeof(Word));
}

AllToAllBenchmarkResult RunAllToAll(const AllToAllBenchmarkConfig& config, Communicator& comm) {
  const std::int64_t id_words = IdWords(config);
  Exchange ids(
      comm, id_words, [](int, int) { return 0; }, [=](int, int) { return id_words; });

  const auto columns = [&](int rank) { return EvenSlice(config.pooled_columns, comm.size(), rank).size(); };
  const auto words = [&](int from, int) { return config.samples * columns(from); };
  Exchange pooled(
      comm, config.samples * columns(comm.rank()) * comm.size(),
      [&](int from, int to) { return to * words(from, to); }, words);

  for (std::int64_t step = 0; step < config.warmup + config.steps; ++step) {
    const bool timed = step >= config.warmup;
    for (Exchange* exchange : {&ids, &pooled}) {
      exchange->Copy(timed);
      exchange->Run(timed);
    }
  }
  ids.CheckReceived();
  pooled.CheckReceived();
  return {ids.Result(), pooled.Result()};
}

}  // namespace hotrow
