#include "sharded_cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/reduce.h"
#include "tests/support/pooled_places.h"

namespace hotrow::sharded_test {
namespace {

constexpr std::int64_t kUnits = 8;
constexpr std::int64_t kGlobalBatch = 37;
constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kStride = 150;

// Widths that are no multiple of 4, a table of two features, more tables than some worlds and fewer than
// others, SUM and MEAN, few rows and many.
const std::vector<EmbeddingTableConfig>& Tables() {
  static const std::vector<EmbeddingTableConfig> tables = {
      {"a", 400, 22, PoolingType::kSum, {"f3"}}, {"b", 30, 16, PoolingType::kMean, {"f0", "f4"}},
      {"c", 3, 9, PoolingType::kSum, {"f1"}},    {"d", 5000, 32, PoolingType::kMean, {"f2"}},
      {"e", 60, 4, PoolingType::kSum, {"f5"}},
  };
  return tables;
}
const std::vector<std::string> kFeatures = {"f0", "f1", "f2", "f3", "f4", "f5"};
const std::vector<std::int64_t> kRows = {30, 3, 5000, 400, 30, 60};
const std::vector<std::int64_t> kColumns = {3, 20, 29, 70, 95, 120};  // not in order of width, gaps between
const std::vector<std::int32_t> kSizes = {2, 1, 5, 3, 0, 4};

template <typename... Args>
void Require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

std::vector<std::int64_t> SamplesOf(const Case& c, std::int64_t world) {
  std::vector<std::int64_t> samples;
  for (std::int64_t r = 0; r < world; ++r) {
    if (!c.samples.empty()) {
      samples.push_back(c.samples[static_cast<std::size_t>(r) % c.samples.size()]);
    } else {
      const std::int64_t first = EvenSlice(kUnits, world, r).begin;
      const std::int64_t last = EvenSlice(kUnits, world, r).end - 1;
      samples.push_back(EvenSlice(kGlobalBatch, kUnits, last).end -
                        EvenSlice(kGlobalBatch, kUnits, first).begin);
    }
  }
  return samples;
}

// Samples [begin, end) of a step's global batch: a function of (step, feature, sample) alone.
KeyedJaggedTensor Batch(const Case& c, std::int64_t step, std::int64_t begin, std::int64_t end) {
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> values;
  std::vector<float> weights;
  for (std::size_t f = 0; f < kRows.size(); ++f) {
    for (std::int64_t s = begin; s < end; ++s) {
      RandomSequence random(MixSeed(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(s)),
                            RandomStream::kPlanted, static_cast<std::uint32_t>(f));
      lengths.push_back(c.fixed ? kSizes[f] : static_cast<std::int32_t>(random.NextBelow(6)));
      for (std::int32_t i = 0; i < lengths.back(); ++i) {
        // Few rows more often than not: duplicates within and across ranks.
        const std::int64_t rows = random.NextDouble() < 0.6 ? std::min<std::int64_t>(kRows[f], 7) : kRows[f];
        values.push_back(random.NextDouble() < 0.1 ? -1 : kRows[f] - 1 - random.NextBelow(rows));
        weights.push_back(static_cast<float>(random.NextNormal()));
      }
    }
  }
  if (!c.fixed) {
    KeyedJaggedTensor batch(kFeatures);
    batch.ResetJagged(end - begin, lengths, values,
                      c.weighted ? std::span<const float>(weights) : std::span<const float>());
    return batch;
  }
  KeyedJaggedTensor batch(kFeatures, kSizes);
  batch.ResetFixed(end - begin, c.weighted);
  std::copy(values.begin(), values.end(), batch.mutable_values().begin());
  if (c.weighted) std::copy(weights.begin(), weights.end(), batch.mutable_weights().begin());
  return batch;
}

// The tower: a gradient that depends on what was pooled, sample by sample.
std::vector<float> Gradient(std::int64_t step, std::int64_t first_sample, const std::vector<float>& pooled) {
  std::vector<float> gradient(pooled.size());
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    const auto words = RandomWords(static_cast<std::uint64_t>(step), RandomStream::kSyntheticDense,
                                   static_cast<std::uint64_t>(first_sample * kStride) + i, 0);
    gradient[i] = UnitFloat(words[0]) - 0.5F + 0.25F * pooled[i];
  }
  return gradient;
}

// Of each feature's table.
std::vector<std::int64_t> FeatureDims() {
  const std::vector<EmbeddingTableConfig> tables = Tables();
  std::vector<std::int64_t> dims;
  for (const std::size_t t : TablesOfFeatures(tables, kFeatures)) dims.push_back(tables[t].embedding_dim);
  return dims;
}

// The same feature after feature, as towers leave gradients.
std::vector<float> FeatureMajor(const std::vector<float>& gradient, const std::vector<PooledPlace>& places) {
  const std::int64_t samples = std::ssize(gradient) / kStride;
  std::vector<float> out(static_cast<std::size_t>(places.back().first + samples * places.back().stride));
  for (std::size_t f = 0; f < kColumns.size(); ++f) {
    for (std::int64_t s = 0; s < samples; ++s) {
      std::copy_n(gradient.data() + s * kStride + kColumns[f], places[f].stride,
                  out.data() + places[f].first + s * places[f].stride);
    }
  }
  return out;
}

std::vector<EmbeddingTableConfig> TablesOf(const Case& c) {
  std::vector<EmbeddingTableConfig> tables = Tables();
  SetOptimizer(tables, {.kind = c.optimizer,
                        .learning_rate = 0.05F,
                        .weight_decay = c.decay == WeightDecayMode::kNone ? 0.0F : 0.1F,
                        .weight_decay_mode = c.decay});
  return tables;
}

EmbeddingOptions Options(const Case& c) {
  EmbeddingOptions options;
  options.kernel = c.kernel;
  options.storage = c.storage;
  options.seed = 4;
  return options;
}

// One rank that holds everything.
struct OneRank {
  std::vector<std::vector<float>> pooled;  // of each step, [samples, kStride]
  std::uint64_t weights = 0;
  std::uint64_t state = 0;
  std::vector<std::vector<float>> rows;  // of each table
};

OneRank TrainOneRank(const Case& c, std::int64_t samples) {
  ThreadPool pool(1);
  EmbeddingBagCollection tables(TablesOf(c), kFeatures, Options(c), pool);
  const std::vector<PooledPlace> places = test::PlacesAt(kColumns, kStride);
  OneRank out;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const KeyedJaggedTensor batch = Batch(c, step, 0, samples);
    std::vector<float> pooled(static_cast<std::size_t>(samples * kStride), 1.0F);
    tables.Forward(batch, {pooled.data(), places}, pool);
    const std::vector<float> gradient = Gradient(step, 0, pooled);
    tables.Backward(batch, {gradient.data(), places}, kUnits, step, pool);
    out.pooled.push_back(std::move(pooled));
  }
  out.weights = tables.WeightsHash(pool);
  out.state = tables.StateHash(pool);
  for (std::int64_t t = 0; t < tables.num_tables(); ++t) {
    const EmbeddingTable& table = tables.table(t);
    out.rows.emplace_back(static_cast<std::size_t>(table.rows() * table.dim()));
    table.ReadRows(0, table.rows(), out.rows.back().data());
  }
  return out;
}

bool Close(float a, float b) { return std::abs(a - b) <= 1e-5F * std::max({1.0F, std::abs(a), std::abs(b)}); }

void RequireSame(bool bits, std::span<const float> actual, std::span<const float> expected,
                 const std::string& what) {
  Require(actual.size() == expected.size(), "{}: {} values, not {}", what, actual.size(), expected.size());
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), actual.size_bytes()) == 0) return;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const bool same =
        bits ? std::memcmp(&actual[i], &expected[i], sizeof(float)) == 0 : Close(actual[i], expected[i]);
    Require(same, "{}: value {} (row {}, column {}) is {}, not {}", what, i, i / kStride, i % kStride,
            actual[i], expected[i]);
  }
}

// Rows of every table, by blocks that end inside shards, read by rank 0 and the same after being written.
void RequireRows(ShardedEmbeddingBagCollection& tables, const OneRank& expected, bool bits,
                 const Communicator& comm) {
  for (std::int64_t t = 0; t < tables.num_tables(); ++t) {
    const EmbeddingTableConfig& config = tables.table_config(t);
    const auto dim = static_cast<std::size_t>(config.embedding_dim);
    for (std::int64_t first = 0; first < config.num_embeddings; first += 173) {
      const std::int64_t count = std::min<std::int64_t>(173, config.num_embeddings - first);
      std::vector<float> rows(static_cast<std::size_t>(count) * dim);
      tables.ReadRows(t, first, count, rows.data());
      const auto of_block = std::span(expected.rows[static_cast<std::size_t>(t)])
                                .subspan(static_cast<std::size_t>(first) * dim, rows.size());
      if (comm.rank() == 0) RequireSame(bits, rows, of_block, "rows of table " + config.name);
    }
  }
}

}  // namespace

std::string Case::Name() const {
  return fmt::format(
      "{}, {}{}, {}, {} tables, recat {}, {} ids, output permute {}, {} bags{}, {}{}{} threads{}",
      hotrow::ToString(plan), hotrow::ToString(optimizer),
      decay == WeightDecayMode::kNone ? "" : " with decay",
      kernel == BackwardKernel::kFused ? "fused" : "unfused", hotrow::ToString(storage),
      hotrow::ToString(dist.recat), dist.id_bytes == IdBytes::k8 ? "8-byte" : "4-byte",
      dist.output_permute == OutputPermute::kCpu ? "cpu" : "none", fixed ? "fixed" : "jagged",
      weighted ? " with weights" : "", pipelined ? "pipelined, " : "", say_samples ? "" : "sizes exchanged, ",
      threads, samples.empty() ? "" : ", uneven batches");
}

std::uint64_t RunCase(const Case& c, Communicator& comm) {
  const std::vector<std::int64_t> samples = SamplesOf(c, comm.size());
  const std::int64_t first = std::accumulate(samples.begin(), samples.begin() + comm.rank(), std::int64_t{0});
  const std::int64_t mine = samples[static_cast<std::size_t>(comm.rank())];
  const std::int64_t total = std::accumulate(samples.begin(), samples.end(), std::int64_t{0});
  const OneRank expected = TrainOneRank(c, total);
  const bool bits = PromisesBits(c.plan);

  ThreadPool pool(c.threads + comm.rank() % 2);
  ShardedEmbeddingBagCollection tables(TablesOf(c), kFeatures, UnevenPlan(c.plan, Tables(), comm.size()),
                                       Options(c), c.dist, comm, pool);
  std::vector<KeyedJaggedTensor> batches(2);
  ShardedEmbeddingBagCollection::Context contexts[] = {tables.MakeContext(), tables.MakeContext()};
  const auto start = [&](std::int64_t step) {
    KeyedJaggedTensor& batch = batches[static_cast<std::size_t>(step % 2)];
    batch = Batch(c, step, first, first + mine);
    tables.StartInputDist(batch, contexts[step % 2], c.say_samples ? samples : std::vector<std::int64_t>());
  };
  const std::int64_t longest = *std::max_element(samples.begin(), samples.end());
  const std::vector<PooledPlace> places = test::PlacesAt(kColumns, kStride);
  std::vector<PooledPlace> gradient_places;
  FeatureMajorPlaces(longest, FeatureDims(), gradient_places);
  std::vector<float> pooled(static_cast<std::size_t>(mine * kStride));
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    ShardedEmbeddingBagCollection::Context& context = contexts[step % 2];
    if (step == 1 || !c.pipelined) start(step);
    tables.FinishInputDist(context);
    std::fill(pooled.begin(), pooled.end(), 1.0F);
    tables.Forward(context, {pooled.data(), places});
    RequireSame(bits, pooled,
                std::span(expected.pooled[static_cast<std::size_t>(step - 1)])
                    .subspan(static_cast<std::size_t>(first * kStride), pooled.size()),
                fmt::format("pooled rows of step {} on rank {}", step, comm.rank()));
    if (c.pipelined && step < kSteps) {
      start(step + 1);
      tables.ContinueInputDist(contexts[(step + 1) % 2]);
    }
    const std::vector<float> gradient = FeatureMajor(Gradient(step, first, pooled), gradient_places);
    tables.Backward(context, {gradient.data(), gradient_places}, kUnits, step);
  }
  const std::uint64_t weights = AllReduceSum<std::uint64_t>(comm, tables.WeightsHash());
  const std::uint64_t state = AllReduceSum<std::uint64_t>(comm, tables.StateHash());
  const std::uint64_t replica = tables.ReplicaHash();
  for (const std::uint64_t other : AllGather(comm, replica)) Require(other == replica, "replicas differ");
  RequireRows(tables, expected, bits, comm);
  if (!bits) return weights;
  Require(weights == expected.weights, "weights hash {:016x}, one rank's is {:016x}", weights,
          expected.weights);
  Require(state == expected.state, "state hash {:016x}, one rank's is {:016x}", state, expected.state);
  return weights;
}

std::vector<Case> Matrix() {
  std::vector<Case> cases;
  int turn = 0;
  for (const PlanOf plan : {PlanOf::kTableWise, PlanOf::kColumnWise, PlanOf::kDataParallel, PlanOf::kMixed,
                            PlanOf::kRowWise, PlanOf::kGrid, PlanOf::kMixedWithRows}) {
    for (const OptimizerKind optimizer : {OptimizerKind::kSgd, OptimizerKind::kAdagrad,
                                          OptimizerKind::kRowWiseAdagrad, OptimizerKind::kAdam}) {
      for (const BackwardKernel kernel : {BackwardKernel::kFused, BackwardKernel::kUnfused}) {
        Case c;
        c.plan = plan;
        if (!PromisesBits(c.plan) && optimizer != OptimizerKind::kSgd) continue;
        c.optimizer = optimizer;
        c.kernel = kernel;
        for (const bool fixed : {false, true}) {
          ++turn;
          c.fixed = fixed;
          // One rank's oracle has the same kernel, so decay may move untouched rows too.
          c.decay = std::array{WeightDecayMode::kNone, WeightDecayMode::kL2,
                               WeightDecayMode::kDecoupled}[static_cast<std::size_t>(turn % 3)];
          c.storage =
              kernel == BackwardKernel::kFused && turn % 5 < 2 ? StorageKind::kLazy : StorageKind::kEager;
          c.dist.recat = std::array{RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc,
                                    RecatMode::kTc}[static_cast<std::size_t>(turn / 2 % 4)];
          c.dist.id_bytes = turn % 3 == 0 ? IdBytes::k8 : IdBytes::kAuto;
          c.dist.output_permute = turn % 4 == 1 ? OutputPermute::kCpu : OutputPermute::kNone;
          c.weighted = turn % 7 < 3;
          c.pipelined = turn % 2 == 0;
          c.say_samples = turn % 5 != 0;
          c.threads = 1 + turn % 3;
          cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

std::vector<Case> Routes() {
  std::vector<Case> cases;
  for (const PlanOf plan : {PlanOf::kMixed, PlanOf::kMixedWithRows}) {
    for (const RecatMode recat : {RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
      for (const OutputPermute permute : {OutputPermute::kNone, OutputPermute::kCpu}) {
        for (const bool fixed : {false, true}) {
          for (const IdBytes id_bytes : {IdBytes::k4, IdBytes::k8}) {
            Case c;
            c.plan = plan;
            c.optimizer = plan == PlanOf::kMixed ? OptimizerKind::kRowWiseAdagrad : OptimizerKind::kSgd;
            c.dist = {recat, id_bytes, permute};
            c.fixed = fixed;
            c.pipelined = true;
            cases.push_back(c);
          }
        }
      }
    }
  }
  return cases;
}

std::vector<Case> UnequalBatches() {
  std::vector<Case> cases;
  for (const PlanOf plan : {PlanOf::kTableWise, PlanOf::kColumnWise, PlanOf::kRowWise, PlanOf::kGrid}) {
    for (const auto& samples : std::vector<std::vector<std::int64_t>>{{11, 0, 3}, {0, 0, 0, 1, 20}, {0}}) {
      for (const bool fixed : {false, true}) {
        Case c;
        c.plan = plan;
        c.optimizer = OptimizerKind::kSgd;
        c.samples = samples;
        c.fixed = fixed;
        c.say_samples = fixed;
        c.dist.recat = RecatMode::kTc;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

Case LargeBatch() {
  Case c;
  c.plan = PlanOf::kColumnWise;
  c.optimizer = OptimizerKind::kRowWiseAdagrad;
  c.samples = {7200};
  c.fixed = true;
  return c;
}

}  // namespace hotrow::sharded_test
