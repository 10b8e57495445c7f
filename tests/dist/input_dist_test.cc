#include "hotrow/dist/input_dist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/comm/thread_ranks.h"
#include "hotrow/files/safetensors.h"
#include "hotrow/plan/check_plan.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/plan/plan_queries.h"
#include "tests/plan/random_plans.h"

namespace hotrow {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Random;
using testing::Uniform;

struct BatchShape {
  bool fixed = false;
  bool weighted = false;
  double skipped = 0.1;
};

// A model's features, and the batch that each rank brings in each step: made again wherever they are needed.
struct Case {
  std::vector<TableShape> model;
  ShardingPlan plan;
  std::int64_t num_features = 0;
  std::vector<std::int64_t> rows;   // of each feature's table
  std::vector<std::int32_t> sizes;  // of each feature where they are fixed
  BatchShape shape;
  std::uint64_t seed = 0;

  Case(std::uint64_t seed_, std::int64_t world, BatchShape shape_) : shape(shape_), seed(seed_) {
    Random random(seed);
    model = testing::RandomModel(random, Uniform(random, 1, 5));
    plan = testing::RandomMixedPlan(random, model, world);
    plan = PlanForModel(plan, model, world);
    Init();
  }
  void Init() {
    for (const TableShape& table : model) {
      for (const std::int64_t f : table.features) num_features = std::max(num_features, f + 1);
    }
    rows.resize(static_cast<std::size_t>(num_features));
    sizes.resize(rows.size());
    for (const TableShape& table : model) {
      for (const std::int64_t f : table.features) {
        rows[static_cast<std::size_t>(f)] = table.rows;
        sizes[static_cast<std::size_t>(f)] = static_cast<std::int32_t>(f % 4);
      }
    }
  }

  std::int64_t Samples(int rank, int step) const {
    Random random(seed * 1000 + static_cast<std::uint64_t>(rank * 10 + step));
    return Uniform(random, 0, 3) == 0 ? 0 : Uniform(random, 1, 40);
  }

  KeyedJaggedTensor Batch(int rank, int step) const {
    Random random(seed * 7919 + static_cast<std::uint64_t>(rank * 10 + step));
    const std::int64_t samples = Samples(rank, step);
    std::vector<std::string> keys;
    for (std::int64_t f = 0; f < num_features; ++f) keys.push_back("f" + std::to_string(f));
    std::vector<std::int32_t> lengths;
    std::vector<std::int64_t> values;
    std::vector<float> weights;
    for (std::size_t f = 0; f < rows.size(); ++f) {
      for (std::int64_t b = 0; b < samples; ++b) {
        lengths.push_back(shape.fixed ? sizes[f] : static_cast<std::int32_t>(Uniform(random, 0, 4)));
        for (std::int32_t i = 0; i < lengths.back(); ++i) {
          const bool skip = Uniform(random, 0, 99) < static_cast<std::int64_t>(shape.skipped * 100);
          values.push_back(skip ? -1 : Uniform(random, 0, rows[f] - 1));
          weights.push_back(static_cast<float>(Uniform(random, 1, 100)));
        }
      }
    }
    if (!shape.fixed) {
      KeyedJaggedTensor batch(keys);
      batch.ResetJagged(samples, lengths, values,
                        shape.weighted ? std::span<const float>(weights) : std::span<const float>());
      return batch;
    }
    KeyedJaggedTensor batch(keys, sizes);
    batch.ResetFixed(samples, shape.weighted);
    std::copy(values.begin(), values.end(), batch.mutable_values().begin());
    if (shape.weighted) std::copy(weights.begin(), weights.end(), batch.mutable_weights().begin());
    return batch;
  }
};

struct Bag {
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  friend bool operator==(const Bag&, const Bag&) = default;
};

std::vector<Bag> ReadBags(const FeatureBags& bags) {
  std::vector<Bag> out;
  for (std::int64_t b = 0; b < bags.samples; ++b) {
    Bag bag;
    for (std::int64_t p = bags.begin(b); p < bags.end(b); ++p) {
      const auto at = static_cast<std::size_t>(p);
      bag.ids.push_back(bags.narrow_ids.empty() ? bags.ids[at] : bags.narrow_ids[at]);
      if (!bags.weights.empty()) bag.weights.push_back(bags.weights[at]);
    }
    out.push_back(std::move(bag));
  }
  return out;
}

// What `rank` is to receive of feature f from a batch: by the definition, from the shards it holds.
std::vector<Bag> ExpectedBags(const Case& c, std::int64_t f, std::int64_t rank,
                              const KeyedJaggedTensor& batch) {
  std::vector<Bag> bags = ReadBags(batch.feature(f));
  for (std::size_t t = 0; t < c.model.size(); ++t) {
    if (std::count(c.model[t].features.begin(), c.model[t].features.end(), f) == 0) continue;
    const TablePlan& table = c.plan.tables[t];
    if (table.sharding != ShardingType::kRowWise && table.sharding != ShardingType::kGrid) return bags;
    for (const PlanShard& shard : table.shards) {
      if (shard.rank != rank) continue;
      for (Bag& bag : bags) {
        Bag kept;
        for (std::size_t i = 0; i < bag.ids.size(); ++i) {
          if (bag.ids[i] < shard.first_row || bag.ids[i] >= shard.first_row + shard.rows) continue;
          kept.ids.push_back(bag.ids[i] - shard.first_row);
          if (!bag.weights.empty()) kept.weights.push_back(bag.weights[i]);
        }
        bag = kept;
      }
      return bags;
    }
  }
  ADD_FAILURE() << "rank " << rank << " holds nothing of feature " << f;
  return {};
}

void Check(const Case& c, int world, const DistOptions& options, bool say_samples) {
  RunThreadRanks(world, [&](Communicator& comm) {
    ThreadPool pool(1 + comm.rank() % 2);
    InputDist dist(c.plan, c.model, c.num_features, options, comm, pool);
    InputBatch ways[] = {dist.MakeBatch(), dist.MakeBatch()};
    const auto start = [&](int step) {
      std::vector<std::int64_t> samples;
      for (int r = 0; r < world; ++r) samples.push_back(c.Samples(r, step));
      dist.Start(c.Batch(comm.rank(), step), say_samples ? samples : std::vector<std::int64_t>(),
                 ways[step % 2]);
    };
    constexpr int kSteps = 4;
    start(0);
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) start(step + 1);  // two batches under way
      InputBatch& way = ways[step % 2];
      if (step % 2 == 1) dist.Continue(way);
      dist.Finish(way);
      dist.RunRecat(way);
      for (std::size_t k = 0; k < dist.features().size(); ++k) {
        for (int source = 0; source < world; ++source) {
          const std::int64_t f = dist.features()[k];
          ASSERT_EQ(ReadBags(way.arrival().bags(static_cast<std::int64_t>(k), source)),
                    ExpectedBags(c, f, comm.rank(), c.Batch(source, step)))
              << "feature " << f << " from rank " << source << " at rank " << comm.rank() << " in step "
              << step;
        }
      }
    }
  });
}

TEST(InputDist, BringsEveryBagWhereThePlanSays) {
  std::uint64_t seed = 0;
  for (const int world : {1, 2, 3, 4, 8}) {
    for (int round = 0; round < 6; ++round) {
      for (const RecatMode recat : {RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
        const Case c(++seed, world, {.fixed = round % 2 == 0, .weighted = round % 3 == 0});
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(world) + " ranks, recat " +
                     ToString(recat));
        const IdBytes bytes = round % 3 == 1 ? IdBytes::k8 : IdBytes::kAuto;
        Check(c, world, {.recat = recat, .id_bytes = bytes}, round < 3);
      }
    }
  }
}

// FBGEMM's permute_2D_sparse_data: what rank 0 receives, of tables that are all its own, in the order
// [feature][source][sample].
TEST(InputDist, AgreesWithTheGoldenPermutes) {
  SafetensorsReader file(std::string(HOTROW_TEST_SOURCE_DIR) + "/golden/data/input_dist.safetensors");
  for (const std::string name : {"permute0.", "permute1.", "permute2."}) {
    const std::vector<std::int32_t> recat_rows = file.ReadI32(name + "recat");
    const std::vector<std::int32_t> lengths = file.ReadI32(name + "lengths");
    const std::vector<std::int64_t> values = file.ReadI64(name + "values");
    const std::vector<std::int32_t> out_lengths = file.ReadI32(name + "out_lengths");
    const std::vector<std::int64_t> out_values = file.ReadI64(name + "out_values");
    const std::int64_t samples = file.Info(name + "lengths").shape[1];
    const std::int64_t features = recat_rows[1] - recat_rows[0];
    const std::int64_t world = std::ssize(recat_rows) / features;

    std::vector<std::string> keys;
    std::vector<TableShape> model;
    ShardingPlan plan{world, {}};
    const std::int64_t rows = 1 + *std::max_element(values.begin(), values.end());
    for (std::int64_t f = 0; f < features; ++f) {
      keys.push_back("f" + std::to_string(f));
      model.push_back(testing::Table("t" + std::to_string(f), rows, 4, 1, f));
      plan.tables.push_back({model.back().name, rows, 4, ShardingType::kTableWise, 0, {{0, 0, rows, 0, 4}}});
    }
    for (const RecatMode recat : {RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
      SCOPED_TRACE(name + ToString(recat));
      RunThreadRanks(static_cast<int>(world), [&](Communicator& comm) {
        ThreadPool pool(1);
        InputDist dist(plan, model, features, {.recat = recat}, comm, pool);
        const auto block = [&](std::int64_t source) {
          return std::span(lengths).subspan(static_cast<std::size_t>(source * features * samples),
                                            static_cast<std::size_t>(features * samples));
        };
        const auto ids = [&](std::int64_t source) {
          return std::accumulate(block(source).begin(), block(source).end(), std::size_t{0});
        };
        std::size_t first = 0;
        for (int source = 0; source < comm.rank(); ++source) first += ids(source);
        KeyedJaggedTensor batch(keys);
        batch.ResetJagged(samples, block(comm.rank()), std::span(values).subspan(first, ids(comm.rank())));
        InputBatch way = dist.MakeBatch();
        dist.Start(batch, {}, way);
        dist.Finish(way);
        dist.RunRecat(way);
        if (comm.rank() != 0) return;
        std::vector<std::int32_t> got_lengths;
        std::vector<std::int64_t> got_values;
        for (std::int64_t f = 0; f < features; ++f) {
          for (int source = 0; source < world; ++source) {
            for (const Bag& bag : ReadBags(way.arrival().bags(f, source))) {
              got_lengths.push_back(static_cast<std::int32_t>(bag.ids.size()));
              got_values.insert(got_values.end(), bag.ids.begin(), bag.ids.end());
            }
          }
        }
        EXPECT_EQ(got_lengths, out_lengths);
        EXPECT_EQ(got_values, out_values);
      });
    }
  }
}

// FBGEMM's block_bucketize_sparse_features, out in the order [bucket][feature][sample].
TEST(InputDist, AgreesWithTheGoldenBucketize) {
  SafetensorsReader file(std::string(HOTROW_TEST_SOURCE_DIR) + "/golden/data/input_dist.safetensors");
  const std::vector<std::int64_t> rows = file.ReadI64("bucketize.rows");
  const std::vector<std::int64_t> block_sizes = file.ReadI64("bucketize.block_sizes");
  const std::vector<std::int32_t> lengths = file.ReadI32("bucketize.lengths");
  const std::vector<std::int64_t> values = file.ReadI64("bucketize.values");
  const std::vector<std::int32_t> out_lengths = file.ReadI32("bucketize.out_lengths");
  const std::vector<std::int64_t> out_values = file.ReadI64("bucketize.out_values");
  const std::int64_t samples = file.Info("bucketize.lengths").shape[1];
  const int world = std::stoi(file.metadata().at("W"));

  std::vector<TableShape> model;
  std::vector<std::string> keys;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    keys.push_back("f" + std::to_string(t));
    model.push_back(testing::Table("t" + std::to_string(t), rows[t], 4, 1, static_cast<std::int64_t>(t)));
    ASSERT_EQ(RowBlockSize(rows[t], world), block_sizes[t]);
  }
  const ShardingPlan plan = MakePlan(PlanKind::kRowWise, model, world);
  RunThreadRanks(world, [&](Communicator& comm) {
    ThreadPool pool(1);
    InputDist dist(plan, model, 3, {}, comm, pool);
    KeyedJaggedTensor batch(keys);
    if (comm.rank() == 1) {
      batch.ResetJagged(samples, lengths, values);
    } else {
      batch.ResetJagged(0, {}, {});
    }
    InputBatch way = dist.MakeBatch();
    dist.Start(batch, {}, way);
    dist.Finish(way);
    // This rank's bags among the golden ones. It has no feature whose rows end before its bucket.
    const auto first_bag = static_cast<std::size_t>(comm.rank() * 3 * samples);
    std::size_t id = static_cast<std::size_t>(std::accumulate(
        out_lengths.begin(), out_lengths.begin() + static_cast<std::ptrdiff_t>(first_bag), 0));
    for (std::int64_t f = 0; f < 3; ++f) {
      std::vector<Bag> expected;
      for (std::int64_t b = 0; b < samples; ++b) {
        Bag bag;
        const auto length = out_lengths[first_bag + static_cast<std::size_t>(f * samples + b)];
        for (std::int32_t i = 0; i < length; ++i) bag.ids.push_back(out_values[id++]);
        expected.push_back(bag);
      }
      const auto mine = dist.features();
      const auto place = std::find(mine.begin(), mine.end(), f);
      if (place == mine.end()) {
        EXPECT_EQ(expected, std::vector<Bag>(static_cast<std::size_t>(samples)));
      } else {
        EXPECT_EQ(ReadBags(way.arrival().bags(place - mine.begin(), 1)), expected)
            << "feature " << f << " at " << comm.rank();
      }
    }
  });
}

// Column shards of a table on one rank, and on all: every rank gets every id of the others' batches once.
TEST(InputDist, ShipsIdsOnceARankAndNothingElseWhereSizesAreFixed) {
  constexpr int kWorld = 4;
  constexpr std::int64_t kSamples = 50;
  Random random(3);
  Case c(1, 1, {.fixed = true});
  c.model = {testing::Table("a", 1000, 32, 3, 0), testing::Table("b", 500, 32, 2, 1)};
  c.num_features = 0;
  c.Init();
  c.sizes = {3, 2};
  c.plan = MakePlan(PlanKind::kColumnWise, c.model, kWorld);
  c.plan.tables[0].shards[0].columns = 4;  // rank 0 has two shards of a
  c.plan.tables[0].shards.push_back({0, 0, 1000, 4, 4});
  c.plan = PlanForModel(c.plan, c.model, kWorld);
  for (const int id_bytes : {4, 8}) {
    std::vector<std::int64_t> sent(kWorld);
    RunThreadRanks(kWorld, [&](Communicator& comm) {
      ThreadPool pool(1);
      InputDist dist(c.plan, c.model, 2, {.id_bytes = id_bytes == 4 ? IdBytes::kAuto : IdBytes::k8}, comm,
                     pool);
      EXPECT_EQ(dist.id_bytes(), id_bytes);
      KeyedJaggedTensor batch({"f0", "f1"}, {3, 2});
      batch.ResetFixed(kSamples);
      comm.ResetSent();
      InputBatch way = dist.MakeBatch();
      dist.Start(batch, std::vector<std::int64_t>(kWorld, kSamples), way);
      dist.Finish(way);
      sent[static_cast<std::size_t>(comm.rank())] = dist.sent_bytes();
      EXPECT_EQ(comm.sent(), dist.sent_bytes());
    });
    EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}),
              (kWorld - 1) * 5 * (kSamples * kWorld) * id_bytes);
  }
}

TEST(InputDist, RefusesFourByteIdsForHugeTables) {
  const std::vector<TableShape> model = {testing::Table("huge", std::int64_t{1} << 31, 4)};
  const ShardingPlan plan = MakePlan(PlanKind::kTableWise, model, 1);
  RunThreadRanks(1, [&](Communicator& comm) {
    ThreadPool pool(1);
    EXPECT_THAT(ErrorOf([&] { InputDist(plan, model, 1, {.id_bytes = IdBytes::k4}, comm, pool); }),
                HasSubstr("table 'huge' has 2147483648 rows"));
    EXPECT_EQ(InputDist(plan, model, 1, {}, comm, pool).id_bytes(), 8);
  });
}

TEST(DistOptions, AreParsedByName) {
  for (const RecatMode mode : {RecatMode::kNone, RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc}) {
    EXPECT_EQ(ParseRecatMode(ToString(mode)), mode);
  }
  EXPECT_THAT(ErrorOf([] { ParseRecatMode("gpu"); }), HasSubstr("none, cpu, sc, tc"));
  EXPECT_EQ(ParseIdBytes("auto"), IdBytes::kAuto);
  EXPECT_EQ(ParseIdBytes("4"), IdBytes::k4);
  EXPECT_EQ(ParseIdBytes("8"), IdBytes::k8);
  EXPECT_THAT(ErrorOf([] { ParseIdBytes("2"); }), HasSubstr("auto, 4, 8"));
  EXPECT_EQ(ParseOutputPermute("cpu"), OutputPermute::kCpu);
  EXPECT_EQ(ParseOutputPermute("none"), OutputPermute::kNone);
  EXPECT_THAT(ErrorOf([] { ParseOutputPermute("gpu"); }), HasSubstr("none, cpu"));
}

}  // namespace
}  // namespace hotrow
