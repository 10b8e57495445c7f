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
#include "hotrow/machine/system.h"
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

// What each rank of a world exchanges, in elements.
struct Shape {
  std::int64_t samples;         // of a rank
  std::int64_t id_words;        // of a rank
  std::int64_t pooled_columns;  // of a sample; each rank has an even share of them
};

Shape ShapeOf(const BenchConfig& config) {
  std::int64_t ids_per_sample = 0;
  for (const std::int32_t size : config.data.bag_sizes) ids_per_sample += size;
  Shape shape{config.per_chip_batch, 0, 0};
  shape.id_words = CheckedMul(CheckedMul(shape.samples, ids_per_sample),
                              WireIdBytes(config) / static_cast<int>(sizeof(Word)));
  for (const EmbeddingTableConfig& table : config.trainer.model.tables)
    shape.pooled_columns +=
        CheckedMul(table.embedding_dim, static_cast<std::int64_t>(table.feature_names.size()));
  return shape;
}

void CheckFits(const Shape& shape, std::int64_t world, std::int64_t ranks_here) {
  const std::int64_t ids = CheckedMul(shape.id_words, world + 1);
  const std::int64_t columns =
      CheckedAdd(shape.pooled_columns, CheckedMul(CeilDiv(shape.pooled_columns, world), world));
  const std::int64_t one_rank = CheckedMul(CheckedAdd(ids, CheckedMul(shape.samples, columns)), sizeof(Word));
  const std::int64_t needed = CheckedMul(one_rank, ranks_here);
  const std::int64_t available = AvailableMemory();
  if (needed <= available) return;
  Fail(
      "--part alltoall: the buffers of {} ranks on this machine need {:.1f} GiB, {:.1f} GiB are "
      "available; valid: fewer --ranks or a smaller --per-chip-batch",
      ranks_here, GiB(needed), GiB(available));
}

ExchangeTimes Together(const ExchangeTimes& a, const ExchangeTimes& b) {
  ExchangeTimes sum = a;
  sum.payload_bytes += b.payload_bytes;
  sum.sent_bytes += b.sent_bytes;
  const auto add = [](std::vector<double>& to, const std::vector<double>& more) {
    std::transform(to.begin(), to.end(), more.begin(), to.begin(), std::plus<>());
  };
  add(sum.seconds, b.seconds);
  add(sum.copy_seconds, b.copy_seconds);
  return sum;
}

}  // namespace

AllToAllResult RunAllToAll(const BenchConfig& config, int ranks_of_host, Communicator& comm) {
  const Shape shape = ShapeOf(config);
  CheckFits(shape, comm.size(), ranks_of_host);
  Exchange ids(
      comm, shape.id_words, [](int, int) { return 0; }, [&](int, int) { return shape.id_words; });

  const auto columns = [&](int rank) { return EvenSlice(shape.pooled_columns, comm.size(), rank).size(); };
  const auto words = [&](int from, int) { return shape.samples * columns(from); };
  Exchange pooled(
      comm, shape.samples * columns(comm.rank()) * comm.size(),
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
  AllToAllResult result;
  result.run = DescribeRun("alltoall", config, comm, 1);
  result.run.threads = ranks_of_host;
  result.id_bytes = WireIdBytes(config);
  result.ids = ids.Result();
  result.pooled = pooled.Result();
  result.both = Together(result.ids, result.pooled);
  result.peak_rss_bytes = PeakResidentBytes();
  return result;
}

}  // namespace hotrow
