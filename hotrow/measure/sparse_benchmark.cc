#include "hotrow/measure/sparse_benchmark.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_trace.h"
#include "hotrow/comm/process.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/measure/rank_batches.h"
#include "hotrow/measure/statistics.h"

namespace hotrow {
namespace {

// Gradients as small as a real step's, uniform in [-1, 1) / global batch, the same whatever the world.
void FillGradient(PooledView<float> gradient, std::span<const std::int64_t> dims, const RankBatches& source,
                  const BenchRun& run, ThreadPool& pool) {
  pool.Run(source.samples(), [&](std::int64_t row, int) {
    std::uint32_t column = 0;
    for (std::size_t f = 0; f < dims.size(); ++f) {
      float* out = gradient.Row(static_cast<std::int64_t>(f), row);
      for (std::int64_t c = 0; c < dims[f]; ++c, ++column) {
        const auto words = RandomWords(run.config.data.seed, RandomStream::kSyntheticDense,
                                       static_cast<std::uint64_t>(source.first() + row), column);
        out[c] = (2.0F * UnitFloat(words[0]) - 1.0F) / static_cast<float>(run.global_batch());
      }
    }
  });
}

struct Seconds {
  std::vector<double> forward;
  std::vector<double> step;
};

Seconds TimeSteps(const BenchRun& run, ShardedEmbeddingBagCollection& embeddings, Communicator& comm,
                  ThreadPool& pool) {
  const BenchConfig& config = run.config;
  const std::int64_t units = config.trainer.reduction_units;
  const RankBatches source(config.data, run.global_batch(), units, comm, pool);
  const std::vector<std::int64_t> dims = embeddings.FeatureDims();
  HOTROW_CHECK(!dims.empty());
  const std::vector<PooledPlace> places = SampleMajorPlaces(dims, 0);
  std::vector<PooledPlace> gradient_places;
  FeatureMajorPlaces(source.longest(), dims, gradient_places);
  Buffer<float> pooled(places.front().stride * source.samples());
  Buffer<float> gradient(places.front().stride * source.longest());
  FillGradient({gradient.data(), gradient_places}, dims, source, run, pool);

  ShardedEmbeddingBagCollection::Context context = embeddings.MakeContext();
  Batch batch;
  Seconds seconds;
  for (std::int64_t step = 0; step < config.warmup + config.steps; ++step) {
    if (step == config.warmup) {
      embeddings.phases().Reset();
      embeddings.bytes().Reset();
    }
    source.Fill(step, batch);
    comm.Barrier();
    const double begin = NowSeconds();
    embeddings.StartInputDist(batch.sparse, context, batch.rank_samples);
    embeddings.FinishInputDist(context);
    embeddings.Forward(context, {pooled.data(), places});
    const double middle = NowSeconds();
    embeddings.Backward(context, {gradient.data(), gradient_places}, units, step + 1);
    double halves[] = {middle - begin, NowSeconds() - middle};
    AllReduceMax<double>(comm, halves);
    config.TellStep(step + 1);
    if (step < config.warmup) continue;
    seconds.forward.push_back(halves[0]);
    seconds.step.push_back(halves[0] + halves[1]);
  }
  return seconds;
}

}  // namespace

SparseResult RunSparse(const BenchConfig& config, Communicator& comm, ThreadPool& pool) {
  const TrainerConfig& trainer = config.trainer;
  SparseResult result;
  result.run = DescribeRun("sparse", config, comm, pool.size());
  ShardedEmbeddingBagCollection embeddings(
      trainer.model.tables, trainer.model.features, trainer.plan.value(),
      {.kernel = trainer.kernel, .storage = trainer.storage, .seed = trainer.seed}, trainer.dist, comm, pool);
  const Seconds seconds = TimeSteps(result.run, embeddings, comm, pool);
  const auto batch = static_cast<double>(result.run.global_batch());
  const double forward = Median(seconds.forward);
  result.work = CountRowWork(trainer.model, config.data, result.run.global_batch(), pool);
  result.step_seconds = seconds.step;
  result.forward_ms = 1e3 * forward;
  result.step_ms = 1e3 * Median(seconds.step);
  result.step_ms_mean = 1e3 * Mean(seconds.step);
  result.forward_rows_per_s = static_cast<double>(result.work.rows_read) / forward;
  result.forward_gb_s = static_cast<double>(result.work.weights_read) * sizeof(float) / forward / 1e9;
  result.samples_per_s = batch / Mean(seconds.step);
  result.phases = MeanOverRanks(comm, embeddings.phases());
  result.bytes = SumOverRanks(comm, embeddings.bytes());
  if (config.limits) result.rows = MeasureRowLimits(embeddings, comm, pool);
  result.peak_rss_bytes = PeakRss(comm);
  return result;
}

}  // namespace hotrow
