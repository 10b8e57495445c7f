// The engine against the golden vectors, in every way of running that must agree with the recorded numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/reference/convert.h"
#include "tests/golden/golden_files.h"
#include "tests/support/close.h"
#include "tests/support/engine_model.h"

namespace hotrow::golden {
namespace {

using reference::Close;
using reference::EngineModel;
using reference::ReadTable;
using reference::WriteTable;

struct Variant {
  BackwardKernel kernel;
  StorageKind storage;
  int threads;
  std::int64_t units;
};
std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const auto kernel : {BackwardKernel::kFused, BackwardKernel::kUnfused}) {
    for (const auto storage : {StorageKind::kEager, StorageKind::kLazy}) {
      // The unfused kernel updates every row: it has no lazy tables.
      if (kernel == BackwardKernel::kUnfused && storage == StorageKind::kLazy) continue;
      for (const std::int64_t units : {1, 8, 64})
        variants.push_back({kernel, storage, units == 8 ? 3 : 1, units});
    }
  }
  return variants;
}
std::string Describe(const Variant& v) {
  return fmt::format("{}, {}, {} threads, {} units", v.kernel == BackwardKernel::kFused ? "fused" : "unfused",
                     v.storage == StorageKind::kEager ? "eager" : "lazy", v.threads, v.units);
}

// A collection, and the places of its features' pooled rows side by side.
struct Collection {
  Collection(std::vector<EmbeddingTableConfig> tables, const std::vector<std::string>& features,
             const std::vector<reference::Tensor>& weights, const OptimizerConfig& optimizer,
             const Variant& v)
      : pool(v.threads),
        ebc((SetOptimizer(tables, optimizer), tables), features, {v.kernel, v.storage, 1}, pool) {
    std::vector<std::int64_t> dims;
    for (const std::size_t t : TablesOfFeatures(tables, features)) dims.push_back(tables[t].embedding_dim);
    places = SampleMajorPlaces(dims, 0);
    for (std::size_t t = 0; t < tables.size(); ++t) {
      WriteTable(ebc.table(static_cast<std::int64_t>(t)), weights[t]);
    }
  }
  ThreadPool pool;
  EmbeddingBagCollection ebc;
  std::vector<PooledPlace> places;
};

TEST(GoldenEngine, PoolingAndItsGradient) {
  for (const std::string& path : Files(Kind::kPooling)) {
    for (const PoolingCase& c : ReadPoolingCases(path)) {
      for (const Variant& v : Variants()) {
        SCOPED_TRACE(fmt::format("{}: {}, {}", path, c.name, Describe(v)));
        // SGD at rate 1 leaves the gradient as the difference.
        const OptimizerConfig sgd{.kind = OptimizerKind::kSgd, .learning_rate = 1};
        Collection e(c.tables, c.features, c.weights, sgd, v);
        std::vector<float> pooled(c.pooled.size(), -1);
        e.ebc.Forward(c.batch, {pooled.data(), e.places}, e.pool);
        EXPECT_TRUE(Close(pooled, c.pooled));
        e.ebc.Backward(c.batch, {c.output_gradient.data(), e.places}, v.units, 1, e.pool);
        for (std::size_t t = 0; t < c.tables.size(); ++t) {
          reference::Tensor change = ReadTable(e.ebc.table(static_cast<std::int64_t>(t)));
          for (std::size_t i = 0; i < change.data.size(); ++i)
            change.data[i] = c.weights[t].data[i] - change.data[i];
          EXPECT_TRUE(Close(change.data, c.gradients[t].data)) << c.tables[t].name;
        }
      }
    }
  }
}

TEST(GoldenEngine, SparseOptimizers) {
  for (const std::string& path : Files(Kind::kSparseOptimizers)) {
    for (const SparseOptimizerCase& c : ReadSparseOptimizerCases(path)) {
      for (const Variant& v : Variants()) {
        SCOPED_TRACE(fmt::format("{}: {}, {}", path, c.name, Describe(v)));
        Collection e(c.tables, c.features, c.initial, c.optimizer, v);
        for (std::size_t k = 0; k < c.steps.size(); ++k) {
          e.ebc.Backward(c.steps[k].batch, {c.steps[k].output_gradient.data(), e.places}, v.units,
                         static_cast<std::int64_t>(k) + 1, e.pool);
        }
        for (std::size_t t = 0; t < c.tables.size(); ++t) {
          const EmbeddingTable& table = e.ebc.table(static_cast<std::int64_t>(t));
          EXPECT_TRUE(Close(ReadTable(table).data, c.final[t].data)) << t;
          if (c.state.empty()) continue;
          std::vector<float> state(c.state[t].data.size());
          table.ReadState(0, table.rows(), state.data());
          EXPECT_TRUE(Close(state, c.state[t].data)) << "state " << t;
        }
      }
    }
  }
}

TEST(GoldenEngine, TrainingRuns) {
  for (const std::string& path : Files(Kind::kTrainingRun)) {
    const TrainingRun run = ReadTrainingRun(path);
    // The reference runs along for `doubt`: which weights rounding alone may have moved.
    reference::Trainer trainer(run.model, run.optimizer, true, run.initial);
    for (const TrainingRun::Step& step : run.steps) trainer.Step(reference::ToReference(step.batch));
    for (const Variant& v : Variants()) {
      SCOPED_TRACE(fmt::format("{}: {}", path, Describe(v)));
      EngineModel engine({.model = run.model,
                          .dense_optimizer = run.optimizer,
                          .kernel = v.kernel,
                          .storage = v.storage,
                          .reduction_units = v.units},
                         v.threads);
      engine.SetParameters(run.initial);
      for (const auto& [name, gradient] : engine.Differentiate(run.steps[0].batch, v.units).dense) {
        ASSERT_TRUE(run.first_gradients.contains(name)) << name;
        EXPECT_EQ(gradient.shape, run.first_gradients.at(name).shape) << name;
        EXPECT_TRUE(Close(gradient.data, run.first_gradients.at(name).data)) << name;
      }
      for (std::size_t k = 0; k < run.steps.size(); ++k) {
        SCOPED_TRACE(k);
        const auto result = engine.Step(run.steps[k].batch);
        EXPECT_TRUE(Close(result.logits, run.steps[k].logits)) << "logits";
        EXPECT_TRUE(Close(std::vector{result.loss}, std::vector{run.steps[k].loss})) << "loss";
      }
      const auto parameters = engine.GetParameters();
      EXPECT_EQ(parameters.size(), run.final.size());
      for (const auto& [name, expected] : run.final) {
        ASSERT_TRUE(parameters.contains(name)) << name;
        EXPECT_TRUE(Close(parameters.at(name).data, expected.data, {}, trainer.state().at(name).doubt))
            << name;
      }
    }
  }
}

// The tables' first gradients, seen through one SGD step at rate 1.
TEST(GoldenEngine, FirstGradientsOfTables) {
  for (const std::string& path : Files(Kind::kTrainingRun)) {
    SCOPED_TRACE(path);
    const TrainingRun run = ReadTrainingRun(path);
    const OptimizerConfig sgd{.kind = OptimizerKind::kSgd, .learning_rate = 1};
    ModelConfig model = run.model;
    SetOptimizer(model.tables, sgd);
    EngineModel engine({.model = model, .dense_optimizer = sgd}, 2);
    engine.SetParameters(run.initial);
    engine.Step(run.steps[0].batch);
    const auto after = engine.GetParameters();
    for (const auto& [name, gradient] : run.first_gradients) {
      std::vector<double> change = run.initial.at(name).data;
      for (std::size_t i = 0; i < change.size(); ++i) change[i] -= after.at(name).data[i];
      EXPECT_TRUE(Close(change, gradient.data)) << name;
    }
  }
}

}  // namespace
}  // namespace hotrow::golden
