#include "matrix_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "hotrow/base/rng.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/thread_ranks.h"
#include "hotrow/plan/units_of_ranks.h"

namespace hotrow::matrix {
namespace {

constexpr std::int64_t kUnits = 8;
constexpr std::int64_t kSampleOf = 16;

template <typename... Args>
void Require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

// What a training run left, as one rank saw it.
struct Trained {
  std::vector<float> losses;
  std::vector<std::vector<float>> logits;  // of each step, this rank's samples
  std::uint64_t weights_hash = 0;
  std::uint64_t state_hash = 0;
  std::vector<std::vector<float>> tables;  // on rank 0, where asked
};

TrainerConfig ConfigOf(const Case& c, std::int64_t world) {
  TrainerConfig config = ModelFor(c.learning);
  config.kernel = c.kernel;
  config.bad_ids = BadIds::kSkip;
  config.reduction_units = kUnits;
  config.seed = 5;
  config.plan = PlanFor(c.plan, c.learning, world);
  config.dist = c.dist;
  return config;
}

std::vector<std::vector<float>> ReadTables(Trainer& trainer) {
  std::vector<std::vector<float>> tables;
  for (std::int64_t t = 0; t < trainer.embeddings().num_tables(); ++t) {
    const EmbeddingTableConfig& table = trainer.embeddings().table_config(t);
    tables.emplace_back(static_cast<std::size_t>(table.num_embeddings * table.embedding_dim));
    trainer.embeddings().ReadRows(t, 0, table.num_embeddings, tables.back().data());
  }
  return tables;
}

template <typename T>
std::vector<T> Rows(const std::vector<T>& all, std::int64_t samples, Slice rows) {
  const std::int64_t width = std::ssize(all) / samples;
  return {all.begin() + rows.begin * width, all.begin() + rows.end * width};
}

// The part of a global batch that is one rank's.
Batch OwnPart(const Case& c, const Batch& global, const Communicator& comm) {
  const Slice own = SamplesOfRank(global.size, kUnits, comm.size(), comm.rank());
  Batch batch;
  batch.first_sample = global.first_sample + own.begin;
  batch.size = own.size();
  batch.dense = Rows(global.dense, global.size, own);
  batch.labels = Rows(global.labels, global.size, own);
  batch.sample_weights = Rows(global.sample_weights, global.size, own);
  // Of the same keys and kind as the one it becomes a slice of.
  batch.sparse = global.sparse;
  batch.sparse.AssignSlice(global.sparse, own);
  for (int r = 0; c.say_samples && r < comm.size(); ++r)
    batch.rank_samples.push_back(SamplesOfRank(global.size, kUnits, comm.size(), r).size());
  return batch;
}

Trained Train(const Case& c, Communicator& comm, bool read_tables) {
  ThreadPool pool(c.threads);
  Trainer trainer(ConfigOf(c, comm.size()), comm, pool);
  std::vector<Batch> batches;
  for (const Batch& global : GlobalBatches(c.bags, trainer.config().sample_weights))
    batches.push_back(OwnPart(c, global, comm));
  Trained out;
  for (std::size_t step = 0; step < batches.size(); ++step) {
    Batch* const next = c.pipelined && step + 1 < batches.size() ? &batches[step + 1] : nullptr;
    out.losses.push_back(trainer.Step(batches[step], next));
    out.logits.emplace_back(trainer.last_logits().begin(),
                            trainer.last_logits().begin() + batches[step].size);
  }
  trainer.Verify();
  out.weights_hash = trainer.WeightsHash();
  out.state_hash = trainer.StateHash();
  if (read_tables) out.tables = ReadTables(trainer);
  return out;
}

// Where the kernels are one optimizer they must give the same bits; a row without gradient moves under the
// unfused Adam alone, which a table of the mixed model has.
BackwardKernel KernelOfBits(const Case& c) {
  return c.learning == Learning::kAdam || c.learning == Learning::kMixed ? c.kernel : BackwardKernel::kFused;
}

// One rank, one thread, nothing in flight.
const Trained& OneRank(const Case& c) {
  using Key = std::tuple<Learning, BackwardKernel, Bags>;
  static std::mutex mutex;
  static std::map<Key, Trained> known;
  const std::lock_guard lock(mutex);
  const auto [entry, missing] = known.try_emplace(Key{c.learning, KernelOfBits(c), c.bags});
  if (missing) {
    Case plain;
    plain.learning = c.learning;
    plain.kernel = KernelOfBits(c);
    plain.bags = c.bags;
    entry->second = Train(plain, *MakeSoleRank(), true);
  }
  return entry->second;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

void RequireSameHashes(const Trained& got, const Trained& want, const char* whose) {
  Require(got.weights_hash == want.weights_hash, "weights_hash {:016x}, {} is {:016x}", got.weights_hash,
          whose, want.weights_hash);
  Require(got.state_hash == want.state_hash, "state_hash {:016x}, {} is {:016x}", got.state_hash, whose,
          want.state_hash);
}

void RequireBits(const Case& c, const Trained& got, const Communicator& comm) {
  const Trained& want = OneRank(c);
  for (std::size_t step = 0; step < want.losses.size(); ++step) {
    const std::int64_t samples = std::ssize(want.logits[step]);
    const auto own =
        Rows(want.logits[step], samples, SamplesOfRank(samples, kUnits, comm.size(), comm.rank()));
    Require(SameBits(got.logits[step], own), "step {}: other logits than one rank's on rank {}", step,
            comm.rank());
    Require(SameBits({&got.losses[step], 1}, {&want.losses[step], 1}),
            "step {}: loss {} on rank {}, one rank's {}", step, got.losses[step], comm.rank(),
            want.losses[step]);
  }
  RequireSameHashes(got, want, "one rank's");
}

void RequireClose(const Case& c, const Trained& got, const Communicator& comm) {
  const Trained& want = OneRank(c);
  for (std::size_t step = 0; step < want.losses.size(); ++step) {
    const float difference = std::abs(got.losses[step] - want.losses[step]);
    Require(difference <= 1e-5F * want.losses[step], "step {}: loss {}, one rank's {}", step,
            got.losses[step], want.losses[step]);
  }
  if (c.learning != Learning::kSgd || comm.rank() != 0) return;
  for (std::size_t t = 0; t < want.tables.size(); ++t) {
    for (std::size_t i = 0; i < want.tables[t].size(); ++i) {
      const float a = got.tables[t][i];
      const float b = want.tables[t][i];
      Require(std::abs(a - b) <= 1e-5F * std::max({0.1F, std::abs(a), std::abs(b)}),
              "table {}: element {} is {}, one rank's {}", ModelFor(c.learning).model.tables[t].name, i, a,
              b);
    }
  }
}

void RequireSame(const Trained& got, const Trained& want, const char* whose) {
  Require(SameBits(got.losses, want.losses), "other losses than {}", whose);
  RequireSameHashes(got, want, whose);
}

// The same case again; where ranks are processes, also on threads of rank 0's.
void RunAgain(const Case& c, const Trained& got, Communicator& comm) {
  const Trained again = Train(c, comm, false);
  if (comm.rank() == 0) RequireSame(again, got, "the same case a moment ago");
  if (comm.shares_memory()) return;
  if (comm.rank() == 0) {
    Trained threads;
    RunThreadRanks(comm.size(), [&](Communicator& thread) {
      const Trained mine = Train(c, thread, false);
      if (thread.rank() == 0) threads = mine;
    });
    RequireSame(got, threads, "thread ranks'");
  }
  comm.Barrier();
}

// All cases that reassociate alike have the same bits as the first of them in this process, which is run
// twice: in a sample it is often the only one.
void RequireRepeats(const Case& c, const Trained& got, Communicator& comm) {
  using Key = std::tuple<PlanOf, int, Learning, BackwardKernel, Bags>;
  static std::map<Key, Trained> first;  // of rank 0 alone
  std::uint8_t is_first = 0;
  if (comm.rank() == 0) {
    const auto [entry, added] =
        first.try_emplace({c.plan, comm.size(), c.learning, KernelOfBits(c), c.bags}, got);
    is_first = added ? 1 : 0;
    if (!added) RequireSame(got, entry->second, "this plan's before");
  }
  Broadcast<std::uint8_t>(comm, std::span(&is_first, 1));
  if (is_first != 0) RunAgain(c, got, comm);
}

}  // namespace

std::string Case::Name() const {
  return fmt::format("{}, {}, {}, recat {}, {}-byte ids, output permute {}, {} bags{}, {}{} threads{}",
                     hotrow::ToString(plan), matrix::ToString(learning),
                     kernel == BackwardKernel::kFused ? "fused" : "unfused", hotrow::ToString(dist.recat),
                     dist.id_bytes == IdBytes::k8 ? 8 : 4,
                     dist.output_permute == OutputPermute::kCpu ? "cpu" : "none",
                     bags.fixed ? "fixed" : "jagged", bags.weighted ? " with weights" : "",
                     pipelined ? "pipelined, " : "", threads, say_samples ? "" : ", sizes exchanged");
}

std::vector<Case> Product() {
  std::vector<Case> cases;
  const auto each = [](auto... values) { return std::array{values...}; };
  Case c;
  for (PlanOf plan : each(PlanOf::kTableWise, PlanOf::kColumnWise, PlanOf::kDataParallel, PlanOf::kMixed,
                          PlanOf::kRowWise, PlanOf::kGrid, PlanOf::kMixedWithRows))
    for (Learning learning : each(Learning::kSgd, Learning::kAdagrad, Learning::kRowWiseAdagrad,
                                  Learning::kAdam, Learning::kMixed))
      for (BackwardKernel kernel : each(BackwardKernel::kFused, BackwardKernel::kUnfused))
        for (RecatMode recat : each(RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc))
          for (Bags bags : each(Bags{false, false}, Bags{false, true}, Bags{true, false}, Bags{true, true}))
            for (bool pipelined : each(false, true))
              for (int threads : each(1, 2)) {
                const std::uint64_t turn = MixSeed(cases.size(), 1);
                c = {plan, learning, kernel, {}, bags, pipelined, turn % 2 == 0, threads};
                c.dist = {recat, turn / 2 % 2 == 0 ? IdBytes::k4 : IdBytes::k8,
                          turn / 4 % 2 == 0 ? OutputPermute::kNone : OutputPermute::kCpu};
                cases.push_back(c);
              }
  return cases;
}

std::vector<Case> Sample(std::int64_t of, std::uint64_t salt) {
  std::vector<Case> some;
  std::uint64_t number = 0;
  for (const Case& c : Product()) {
    if (MixSeed(salt, number++) % static_cast<std::uint64_t>(of) == 0) some.push_back(c);
  }
  return some;
}

bool FullMatrix() {
  const char* const value = std::getenv("HOTROW_FULL_MATRIX");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

std::vector<Case> CasesFor(int world, bool mpi) {
  if (FullMatrix()) return Product();
  return Sample(kSampleOf, static_cast<std::uint64_t>(2 * world + (mpi ? 1 : 0)));
}

void RunCase(const Case& c, Communicator& comm) {
  const bool bits = PromisesBits(c.plan);
  const Trained got = Train(c, comm, !bits && c.learning == Learning::kSgd);
  if (bits) {
    RequireBits(c, got, comm);
  } else {
    RequireClose(c, got, comm);
    RequireRepeats(c, got, comm);
  }
}

}  // namespace hotrow::matrix
