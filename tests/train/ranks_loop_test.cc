// The loop, evaluation, reading and model files over thread ranks.

#include <atomic>
#include <cstdio>
#include <functional>
#include <numeric>

#include "hotrow/base/error.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/data/metrics.h"
#include "hotrow/train/agreed_batches.h"
#include "hotrow/train/loop.h"
#include "hotrow/train/model_file.h"
#include "hotrow/train/rank_source.h"
#include "tests/train/over_ranks.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;

// Hides how many samples there are, or fails, or does something at a batch.
class Wrapped final : public BatchSource {
 public:
  Wrapped(BatchSource& inner, std::function<void(int batch)> at_batch, bool samples_known = true)
      : inner_(inner), at_batch_(std::move(at_batch)), description_(inner.description()) {
    if (!samples_known) description_.samples.reset();
  }
  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override {
    inner_.StartEpoch(epoch);
    batch_ = 0;
  }
  bool Next(std::int64_t max_samples, Batch& batch) override {
    if (at_batch_) at_batch_(++batch_);
    return inner_.Next(max_samples, batch);
  }

 private:
  BatchSource& inner_;
  std::function<void(int)> at_batch_;
  DataDescription description_;
  int batch_ = 0;
};

// Every sample's weight is its first dense input.
class WeightedByFirstInput final : public BatchSource {
 public:
  explicit WeightedByFirstInput(BatchSource& inner) : inner_(inner), description_(inner.description()) {
    description_.weighted_samples = true;
  }
  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t epoch) override { inner_.StartEpoch(epoch); }
  bool Next(std::int64_t max_samples, Batch& batch) override {
    const bool more = inner_.Next(max_samples, batch);
    for (std::int64_t s = 0; s < batch.size; ++s) {
      batch.sample_weights.push_back(batch.dense[static_cast<std::size_t>(s * description_.num_dense)]);
    }
    return more;
  }

 private:
  BatchSource& inner_;
  DataDescription description_;
};

// `samples` of another source's first epoch, of bags of any kind, as a data set of a rank's own.
class OwnData final : public BatchSource {
 public:
  OwnData(std::int64_t samples, bool jagged, bool weighted)
      : source_(SmallData(std::nullopt)),
        description_(source_.description()),
        jagged_(jagged),
        weighted_(weighted) {
    description_.samples = samples;
    for (SparseFeature& feature : description_.features) {
      if (jagged) feature.fixed_size = 0;
    }
  }
  const DataDescription& description() const override { return description_; }
  void StartEpoch(std::int64_t) override { next_ = 0; }
  bool Next(std::int64_t max_samples, Batch& batch) override {
    const std::int64_t samples = std::min(max_samples, *description_.samples - next_);
    batch.size = samples;
    if (samples == 0) return false;
    Batch fixed;
    source_.Fill(0, next_, samples, fixed);
    next_ += samples;
    batch = fixed;
    const std::span<const std::int64_t> values = fixed.sparse.values();
    const std::vector<float> weights(weighted_ ? values.size() : 0, 0.5F);
    if (jagged_) {
      std::vector<std::int32_t> lengths;
      for (const std::int32_t size : fixed.sparse.fixed_sizes())
        lengths.insert(lengths.end(), static_cast<std::size_t>(samples), size);
      batch.sparse = KeyedJaggedTensor(fixed.sparse.keys());
      batch.sparse.ResetJagged(samples, lengths, values, weights);
    } else if (weighted_) {
      batch.sparse.ResetFixed(samples, true);
      std::ranges::copy(values, batch.sparse.mutable_values().begin());
      std::ranges::copy(weights, batch.sparse.mutable_weights().begin());
    }
    return true;
  }

 private:
  SyntheticSource source_;
  DataDescription description_;
  bool jagged_;
  bool weighted_;
  std::int64_t next_ = 0;
};

class RanksLoopTest : public ::testing::Test {
 protected:
  struct Left {
    LoopResult result;
    std::uint64_t weights = 0;
    std::uint64_t state = 0;
  };
  Left Run(Communicator& comm, const LoopConfig& loop, std::optional<PlanKind> plan = {}) {
    SyntheticSource data(SmallData(101));
    SyntheticSource eval_data(SmallData(41, 8));
    RankSource source(data, 8, comm);
    RankSource eval(eval_data, 8, comm);
    ThreadPool pool(1);
    TrainerConfig config = config_;
    if (plan) config.plan = PlanOf(*plan, config.model, comm.size());
    Trainer trainer(config, comm, pool);
    Left left;
    left.result = TrainLoop(trainer, source, &eval, loop, {});
    left.weights = trainer.WeightsHash();
    left.state = trainer.StateHash();
    return left;
  }
  // Trains over ranks whose data is their own, rank r's samples[r].
  void RunOwn(const std::vector<std::int64_t>& samples, bool jagged, bool weighted, const LoopConfig& loop,
              std::int64_t steps, std::size_t evaluations) {
    const std::int64_t total = std::accumulate(samples.begin(), samples.end(), std::int64_t{0});
    OnRanks(static_cast<int>(samples.size()), [&](Communicator& comm) {
      OwnData source(samples[static_cast<std::size_t>(comm.rank())], jagged, weighted);
      OwnData eval(samples[static_cast<std::size_t>(comm.rank())], jagged, weighted);
      ThreadPool pool(1);
      Trainer trainer(config_, comm, pool);
      const LoopResult result = TrainLoop(trainer, source, &eval, loop, {});
      EXPECT_EQ(result.steps, steps);
      EXPECT_EQ(result.samples, total * loop.epochs);
      ASSERT_EQ(result.evaluations.size(), evaluations);
      EXPECT_EQ(result.evaluations[0].result.samples, total);
      const auto aucs = AllGather(comm, result.evaluations[0].result.auc);
      EXPECT_THAT(aucs, ::testing::Each(aucs[0]));
    });
  }

  TrainerConfig config_ = SmallTrainer(SyntheticSource(SmallData(1)).description());
};

// 101 samples in batches of 20: the last batch, of one sample, is empty on all ranks but one.
TEST_F(RanksLoopTest, TrainsAndEvaluatesTheBitsOfOneRank) {
  const LoopConfig loop{.epochs = 2, .batch_size = 20, .eval_every = 0.5};
  const Left want = Run(*MakeSoleRank(), loop);
  EXPECT_EQ(want.result.steps, 12);
  for (const int ranks : {2, 4, 8}) {
    for (const bool pipeline : {false, true}) {
      for (const PlanKind plan : {PlanKind::kTableWise, PlanKind::kDataParallel}) {
        LoopConfig over = loop;
        over.pipeline = pipeline;
        OnRanks(ranks, [&](Communicator& comm) {
          const Left got = Run(comm, over, plan);
          EXPECT_EQ(got.result.losses, want.result.losses);
          EXPECT_EQ(got.weights, want.weights);
          EXPECT_EQ(got.state, want.state);
          ASSERT_EQ(got.result.evaluations.size(), want.result.evaluations.size());
          for (std::size_t i = 0; i < want.result.evaluations.size(); ++i) {
            EXPECT_EQ(got.result.evaluations[i].step, want.result.evaluations[i].step);
            EXPECT_EQ(got.result.evaluations[i].result.auc, want.result.evaluations[i].result.auc);
            EXPECT_EQ(got.result.evaluations[i].result.log_loss, want.result.evaluations[i].result.log_loss);
          }
        });
      }
    }
  }
}

TEST_F(RanksLoopTest, ThreeRanksEndAndAgree) {
  OnRanks(3, [&](Communicator& comm) {
    SyntheticSource data(SmallData(50));
    RankSource source(data, 12, comm);
    ThreadPool pool(1);
    TrainerConfig config = config_;
    config.reduction_units = 12;
    Trainer trainer(config, comm, pool);
    const LoopResult result = TrainLoop(trainer, source, nullptr, {.epochs = 2, .batch_size = 16}, {});
    EXPECT_EQ(result.steps, 8);
    const auto losses = AllGather(comm, result.losses.back());
    EXPECT_THAT(losses, ::testing::Each(losses[0]));
  });
}

TEST_F(RanksLoopTest, ARankWhoseDataEndsEarlyGoesOnWithEmptyBatches) {
  for (const bool jagged : {false, true}) {
    for (const bool weighted : {false, true}) {
      for (const bool pipeline : {false, true}) {
        SCOPED_TRACE(fmt::format("jagged {} weighted {} pipeline {}", jagged, weighted, pipeline));
        const LoopConfig loop{.epochs = 2, .batch_size = 10, .pipeline = pipeline};
        RunOwn({45, 10}, jagged, weighted, loop, 10, 2);
        RunOwn({0, 25, 0, 3}, jagged, weighted, loop, 6, 2);  // nothing from the start
      }
    }
  }
}

// Ranks know different numbers of samples, and must evaluate after the same steps all the same.
TEST_F(RanksLoopTest, RanksOfDifferentDataEvaluateTogether) {
  RunOwn({40, 10}, false, false, {.epochs = 1, .batch_size = 10, .eval_every = 0.4}, 4, 3);
}

// Whoever reads: a sample's weight stays with its label and inputs in every rank's slice.
TEST_F(RanksLoopTest, SlicesCarryTheirSamplesWeights) {
  for (const int ranks : {1, 2, 4}) {
    OnRanks(ranks, [&](Communicator& comm) {
      SyntheticSource data(SmallData(45));
      WeightedByFirstInput weighted(data);
      RankSource source(weighted, 8, comm);
      AgreedBatches batches(source, comm);
      Batch batch;
      batches.StartEpoch(0);
      std::int64_t samples = 0;
      while (batches.Next(10, batch)) {
        ASSERT_EQ(std::ssize(batch.sample_weights), batch.size);
        for (std::int64_t s = 0; s < batch.size; ++s) {
          EXPECT_EQ(batch.sample_weights[static_cast<std::size_t>(s)],
                    batch.dense[static_cast<std::size_t>(s * 5)]);
        }
        samples += batch.size;
      }
      batches.Rethrow();
      EXPECT_EQ(AllReduceSum(comm, samples), 45);
    });
  }
}

TEST_F(RanksLoopTest, RanksSeekTheSameBatch) {
  for (const int ranks : {1, 4}) {
    OnRanks(ranks, [&](Communicator& comm) {
      SyntheticSource data(SmallData(45));
      SyntheticSource other(SmallData(45));
      RankSource read(data, 8, comm);
      RankSource sought(other, 8, comm);
      read.StartEpoch(0);
      Batch want;
      Batch got;
      for (int i = 0; i < 3; ++i) read.Next(10, want);
      sought.Seek(0, 3, 10);
      while (read.Next(10, want)) {
        ASSERT_TRUE(sought.Next(10, got));
        EXPECT_EQ(got.first_sample, want.first_sample);
        EXPECT_EQ(got.dense, want.dense);
        EXPECT_TRUE(std::ranges::equal(got.sparse.values(), want.sparse.values()));
      }
      EXPECT_FALSE(sought.Next(10, got));
    });
  }
}

// As if all samples were one rank's, and their weights its.
TEST_F(RanksLoopTest, EvaluationWeighsSamples) {
  SyntheticSource data(SmallData(45));
  Evaluation alone;
  std::vector<float> labels;
  std::vector<float> weights;
  std::vector<float> logits(45);
  OnRanks(1, [&](Communicator& comm) {
    WeightedByFirstInput weighted(data);
    ThreadPool pool(1);
    Trainer trainer(config_, comm, pool);
    Batch batch;
    weighted.StartEpoch(0);
    ASSERT_TRUE(weighted.Next(45, batch));
    labels = batch.labels;
    weights = batch.sample_weights;
    trainer.Predict(batch, logits);
    alone = Evaluate(trainer, weighted, 45);
  });
  EXPECT_NEAR(alone.auc, RocAuc(logits, labels, weights), 1e-12);
  EXPECT_NEAR(alone.log_loss, LogLoss(logits, labels, weights), 1e-12);
  EXPECT_NEAR(alone.label_rate, LabelRate(labels, weights), 1e-12);
  EXPECT_NEAR(alone.normalized_entropy, NormalizedEntropy(alone.log_loss, alone.label_rate), 1e-12);
  EXPECT_NE(alone.auc, RocAuc(logits, labels));
  EXPECT_EQ(alone.samples, 45);
  OnRanks(4, [&](Communicator& comm) {
    SyntheticSource of_rank(SmallData(45));
    WeightedByFirstInput weighted(of_rank);
    RankSource source(weighted, 8, comm);
    ThreadPool pool(1);
    Trainer trainer(config_, comm, pool);
    const Evaluation evaluation = Evaluate(trainer, source, 45);
    EXPECT_NEAR(evaluation.auc, alone.auc, 1e-6);
    EXPECT_NEAR(evaluation.log_loss, alone.log_loss, 1e-6);
    EXPECT_NEAR(evaluation.prediction_rate, alone.prediction_rate, 1e-6);
  });
}

TEST_F(RanksLoopTest, NoDataOnAnyRankIsAnError) {
  const std::string error = ErrorOnRanks(2, [&](Communicator& comm) {
    OwnData source(0, true, false);
    Wrapped streamed(source, {}, false);
    ThreadPool pool(1);
    Trainer trainer(config_, comm, pool);
    TrainLoop(trainer, streamed, nullptr, {.epochs = 1, .batch_size = 10}, {});
  });
  EXPECT_THAT(error, HasSubstr("the data has no samples"));
}

// Of data that tells no number of samples: of all ranks in one, or of each rank's own.
TEST_F(RanksLoopTest, ABatchLargerThanTheDataIsAnErrorOnEveryRank) {
  for (const bool own : {false, true}) {
    for (const bool pipeline : {false, true}) {
      std::atomic<int> failed = 0;
      const std::string error = ErrorOnRanks(4, [&](Communicator& comm) {
        SyntheticSource data(SmallData(30));
        OwnData part(comm.rank() == 1 ? 10 : comm.rank() == 3 ? 20 : 0, false, false);
        Wrapped streamed(own ? static_cast<BatchSource&>(part) : data, {}, false);
        RankSource cut(streamed, 8, comm);
        ThreadPool pool(1);
        Trainer trainer(config_, comm, pool);
        BatchSource& source = own ? static_cast<BatchSource&>(streamed) : cut;
        try {
          TrainLoop(trainer, source, nullptr, {.batch_size = 31, .pipeline = pipeline}, {});
        } catch (...) {  // whom an error reaches last may see the world end first
          failed += trainer.steps() == 0;
          throw;
        }
      });
      EXPECT_EQ(error, "batch size: 31 is more than the data's 30 samples");
      EXPECT_EQ(failed, 4);
    }
  }
}

// Rank 0 reads for all, a batch ahead: what fails in batch 3 is due at step 3.
TEST_F(RanksLoopTest, AReaderThatFailsEndsAllRanksAtItsOwnStep) {
  for (const bool pipeline : {false, true}) {
    std::atomic<int> steps = 0;
    const std::string error = ErrorOnRanks(4, [&](Communicator& comm) {
      SyntheticSource data(SmallData(100));
      Wrapped failing(data, [](int batch) {
        if (batch == 3) Fail("data.csv:42: column 'x' is not a number");
      });
      RankSource source(failing, 8, comm);
      ThreadPool pool(1);
      Trainer trainer(config_, comm, pool);
      try {
        TrainLoop(trainer, source, nullptr, {.epochs = 1, .batch_size = 10, .pipeline = pipeline}, {});
      } catch (...) {
        steps += static_cast<int>(trainer.steps());
        throw;
      }
    });
    EXPECT_EQ(error, "data.csv:42: column 'x' is not a number");
    EXPECT_EQ(steps, 4 * 2);
  }
}

TEST_F(RanksLoopTest, AnInterruptOnOneRankStopsAllAfterTheSameStep) {
  for (const bool pipeline : {false, true}) {
    OnRanks(4, [&](Communicator& comm) {
      std::atomic<bool> interrupted = false;
      SyntheticSource data(SmallData(100));
      Wrapped watched(data, [&](int batch) { interrupted = comm.rank() == 0 && batch >= 3; });
      RankSource source(watched, 8, comm);
      ThreadPool pool(1);
      Trainer trainer(config_, comm, pool);
      const LoopResult result =
          TrainLoop(trainer, source, nullptr, {.epochs = 9, .batch_size = 10, .pipeline = pipeline},
                    {.interrupted = &interrupted});
      EXPECT_EQ(result.reason, StopReason::kInterrupted);
      const auto steps = AllGather(comm, result.steps);
      EXPECT_THAT(steps, ::testing::Each(steps[0]));
      EXPECT_LE(steps[0], 3);
      EXPECT_EQ(trainer.steps(), result.steps);
      Batch batch = OwnBatch(data, 0, 20, 8, comm);
      trainer.Step(batch);  // nothing is left in flight
    });
  }
}

TEST_F(RanksLoopTest, ModelsAreSavedAndLoadedOverRanks) {
  const std::string path = ::testing::TempDir() + "/ranks_model." + std::to_string(getpid()) + ".safetensors";
  for (const int writers : {1, 4}) {
    std::uint64_t saved = 0;
    const auto train_and_save = [&](Communicator& comm) {
      ThreadPool pool(1);
      TrainerConfig config = config_;
      config.plan = PlanOf(PlanKind::kRowWise, config.model, comm.size());
      Trainer trainer(config, comm, pool);
      Batch batch = OwnBatch(SyntheticSource(SmallData(std::nullopt)), 0, 37, 8, comm);
      trainer.Step(batch);
      SaveModel(trainer, path, nullptr);
      const std::uint64_t hash = trainer.WeightsHash();
      if (comm.rank() == 0) saved = hash;
    };
    OnRanks(writers, train_and_save);
    for (const PlanKind plan : {PlanKind::kColumnWise, PlanKind::kDataParallel, PlanKind::kGrid}) {
      OnRanks(2, [&](Communicator& comm) {
        ThreadPool pool(1);
        TrainerConfig config = config_;
        config.seed = 77;
        config.plan = PlanOf(plan, config.model, 2);
        Trainer trainer(config, comm, pool);
        EXPECT_NE(trainer.WeightsHash(), saved);
        LoadModel(trainer, path);
        EXPECT_EQ(trainer.WeightsHash(), saved);
        trainer.Verify();
      });
    }
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace hotrow
