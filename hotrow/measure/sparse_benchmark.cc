#include "hotrow/measure/sparse_benchmark.h"

#include <algorithm>
#include <numeric>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/comm/gather_phases.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/measure/rank_batches.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

// Gradients as small as a real step's, uniform in [-1, 1) / global batch, the same whatever the world;
// feature after feature, as the tower leaves them.
void FillGradient(Buffer<float>& gradient, std::int64_t dim, const RankBatches& source,
                  const SparseBenchmarkConfig& config, ThreadPool& pool) {
  const std::int64_t width = config.num_features * dim;
  gradient.EnsureSize(width * source.longest());
  pool.Run(source.samples(), [&](std::int64_t row, int) {
    for (std::int64_t c = 0; c < width; ++c) {
      const auto words =
          RandomWords(config.data.seed, RandomStream::kSyntheticDense,
                      static_cast<std::uint64_t>(source.first() + row), static_cast<std::uint32_t>(c));
      gradient[(c / dim * source.longest() + row) * dim + c % dim] =
          (2.0F * UnitFloat(words[0]) - 1.0F) / static_cast<float>(config.global_batch);
    }
  });
}

}  // namespace

SparseBenchmarkResult RunSparseBenchmark(const SparseBenchmarkConfig& config,
                                         ShardedEmbeddingBagCollection& embeddings, Communicator& comm,
                                         ThreadPool& pool) {
  const RankBatches source(config.data, config.global_batch, config.reduction_units, comm, pool);
  HOTROW_CHECK(config.num_features >= 1);
  const std::int64_t dim = embeddings.table_config(embeddings.TableOfFeature(0)).embedding_dim;
  for (std::int64_t f = 0; f < config.num_features; ++f) {
    HOTROW_CHECK(embeddings.table_config(embeddings.TableOfFeature(f)).embedding_dim == dim);
  }
  const std::int64_t width = config.num_features * dim;
  std::vector<std::int64_t> columns;
  for (std::int64_t f = 0; f < config.num_features; ++f) columns.push_back(f * dim);
  std::vector<std::int64_t> gradient_columns(columns.size());
  FeatureMajorColumns(source.longest(), dim, gradient_columns);
  Buffer<float> pooled(width * source.samples());
  Buffer<float> gradient;
  FillGradient(gradient, dim, source, config, pool);

  Batch batch;
  SparseBenchmarkResult result;
  for (std::int64_t step = 0; step < config.warmup + config.steps; ++step) {
    if (step == config.warmup) {
      embeddings.phases().Reset();
      embeddings.bytes().Reset();
    }
    source.Fill(step, batch);
    comm.Barrier();
    const double begin = NowSeconds();
    embeddings.StartInputDist(batch.sparse, 0, batch.rank_samples);
    embeddings.FinishInputDist(0);
    embeddings.Forward(0, {pooled.data(), width, columns});
    const double middle = NowSeconds();
    embeddings.Backward(0, {gradient.data(), dim, gradient_columns}, config.reduction_units, step + 1);
    double seconds[] = {middle - begin, NowSeconds() - middle};
    AllReduceMax<double>(comm, seconds);
    if (config.on_step) config.on_step(step + 1);
    if (step < config.warmup) continue;
    result.forward_seconds.push_back(seconds[0]);
    result.backward_seconds.push_back(seconds[1]);
  }
  result.phases = MeanOverRanks(comm, embeddings.phases());
  result.bytes = SumOverRanks(comm, embeddings.bytes());
  return result;
}

std::int64_t CountTouchedRows(const SyntheticConfig& data, std::int64_t global_batch, ThreadPool& pool) {
  Batch batch;
  SyntheticSource(data, &pool).Fill(0, 0, global_batch, batch);
  std::vector<std::int64_t> touched(data.rows.size());
  pool.Run(std::ssize(touched), [&](std::int64_t feature, int) {
    const std::span<const std::int64_t> ids = batch.sparse.feature(feature).ids;
    std::vector<std::int64_t> rows(ids.begin(), ids.end());
    std::sort(rows.begin(), rows.end());
    touched[static_cast<std::size_t>(feature)] = std::unique(rows.begin(), rows.end()) - rows.begin();
  });
  return std::accumulate(touched.begin(), touched.end(), std::int64_t{0});
}

}  // namespace hotrow
