// The embedding tables alone, at DLRM-v2's shape (26 features, 214 ids a sample, dim 128): lookup and
// backward apart.
//
//   hotrow_embed_bench --benchmark_filter='uniform/adagrad/fused' [--benchmark_repetitions=N]
//
// HOTROW_BENCH_ROWS caps the tables (default 500000), HOTROW_BENCH_BATCH is the batch (default 4096),
// HOTROW_BENCH_THREADS the threads (default: the cores).

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/data/presets.h"
#include "hotrow/data/synthetic.h"
#include "hotrow/embed/embedding_bag_collection.h"
#include "hotrow/machine/cores.h"

namespace hotrow {
namespace {

constexpr std::int64_t kDim = 128;
constexpr std::int64_t kUnits = 8;
constexpr std::int64_t kBatches = 4;  // so many different ones, in turn

std::int64_t FromEnvironment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

struct Case {
  std::string ids;
  OptimizerKind optimizer;
  BackwardKernel kernel;
  StorageKind storage;

  std::string Name() const {
    return ids + "/" + ToString(optimizer) + "/" + (kernel == BackwardKernel::kFused ? "fused" : "unfused") +
           "/" + ToString(storage);
  }
};

// Tables and batches of one case. Made when first needed; only one is alive, since each takes gigabytes.
class Setup {
 public:
  static Setup& Of(const Case& which) {
    static std::unique_ptr<Setup> current;
    if (current == nullptr || current->name_ != which.Name()) {
      current.reset();
      current = std::make_unique<Setup>(which);
    }
    return *current;
  }

  explicit Setup(const Case& which)
      : name_(which.Name()),
        pool_(static_cast<int>(FromEnvironment("HOTROW_BENCH_THREADS", AvailableCores()))) {
    const std::vector<std::int64_t> rows =
        CardinalityPreset("mlperf", FromEnvironment("HOTROW_BENCH_ROWS", 500'000));
    const auto features = static_cast<std::int64_t>(rows.size());
    const std::int64_t batch = FromEnvironment("HOTROW_BENCH_BATCH", 4096);
    SyntheticConfig config;
    config.rows = rows;
    config.bag_sizes = ParseMultiHot("mlperf", features);
    config.ids = ParseIdDistribution(which.ids);
    const SyntheticSource source(config, &pool_);
    batches_.resize(kBatches);
    for (std::int64_t b = 0; b < kBatches; ++b)
      source.Fill(b, 0, batch, batches_[static_cast<std::size_t>(b)]);

    const std::vector<std::string> names = NumberedNames("f", features);
    std::vector<EmbeddingTableConfig> tables;
    for (std::size_t f = 0; f < names.size(); ++f) {
      tables.push_back(
          {"t_" + names[f], rows[f], kDim, PoolingType::kSum, {names[f]}, {.kind = which.optimizer}});
    }
    const std::vector<std::int64_t> dims(names.size(), kDim);
    places_ = SampleMajorPlaces(dims, kDim);
    FeatureMajorPlaces(batch, dims, gradient_places_);
    pooled_.EnsureSize(batch * places_.front().stride);
    gradient_.EnsureSize(batch * features * kDim);
    for (std::int64_t i = 0; i < gradient_.size(); ++i) gradient_[i] = static_cast<float>(i % 17 - 8) * 1e-5F;
    EmbeddingOptions options;
    options.kernel = which.kernel;
    options.storage = which.storage;
    tables_ = std::make_unique<EmbeddingBagCollection>(std::move(tables), names, options, pool_);
    for (std::int64_t b = 0; b < kBatches; ++b) Backward();  // lazy rows get their memory
  }

  void Forward() { tables_->Forward(batches_[Next()].sparse, {pooled_.data(), places_}, pool_); }
  void Backward() {
    tables_->Backward(batches_[Next()].sparse, {gradient_.data(), gradient_places_}, kUnits, ++step_, pool_);
  }
  std::int64_t ids() const { return static_cast<std::int64_t>(batches_[0].sparse.values().size()); }

 private:
  std::size_t Next() { return static_cast<std::size_t>(next_++ % kBatches); }

  std::string name_;
  ThreadPool pool_;
  std::vector<Batch> batches_;
  std::vector<PooledPlace> places_;
  std::vector<PooledPlace> gradient_places_;
  Buffer<float> pooled_;
  Buffer<float> gradient_;
  std::unique_ptr<EmbeddingBagCollection> tables_;
  std::int64_t next_ = 0;
  std::int64_t step_ = 0;
};

void Run(benchmark::State& state, const Case& which, bool forward, bool backward) {
  Setup& setup = Setup::Of(which);
  for ([[maybe_unused]] auto iteration : state) {
    if (forward) setup.Forward();
    if (backward) setup.Backward();
  }
  state.SetItemsProcessed(state.iterations() * setup.ids());
}

void Register() {
  std::vector<Case> cases;
  for (const char* ids : {"uniform", "zipf:1.05"}) {
    for (const OptimizerKind optimizer :
         {OptimizerKind::kAdagrad, OptimizerKind::kRowWiseAdagrad, OptimizerKind::kSgd}) {
      cases.push_back({ids, optimizer, BackwardKernel::kFused, StorageKind::kEager});
    }
    cases.push_back({ids, OptimizerKind::kAdagrad, BackwardKernel::kFused, StorageKind::kLazy});
    cases.push_back({ids, OptimizerKind::kAdagrad, BackwardKernel::kUnfused, StorageKind::kEager});
  }
  for (const Case& which : cases) {
    struct Part {
      const char* name;
      bool forward;
      bool backward;
    };
    for (const Part part :
         {Part{"forward", true, false}, Part{"backward", false, true}, Part{"step", true, true}}) {
      benchmark::RegisterBenchmark(
          (which.Name() + "/" + part.name).c_str(),
          [which, part](benchmark::State& state) { Run(state, which, part.forward, part.backward); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace hotrow

int main(int argc, char** argv) {
  hotrow::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
