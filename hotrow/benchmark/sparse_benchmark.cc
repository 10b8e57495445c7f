#include "hotrow/benchmark/sparse_benchmark.h"

#include "hotrow/base/buffer.h"
#include "hotrow/base/rng.h"
#include "hotrow/trace/phase.h"

namespace hotrow {
namespace {

// Gradients as small as a real step's: uniform in [-1, 1) / batch.
void FillGradient(Buffer<float>& gradient, std::int64_t row_width, std::int64_t rows, std::uint64_t seed,
                  ThreadPool& pool) {
  gradient.EnsureSize(row_width * rows);
  pool.Run(rows, [&](std::int64_t row, int) {
    float* out = gradient.data() + row * row_width;
    for (std::int64_t c = 0; c < row_width; ++c) {
      const auto words = RandomWords(seed, RandomStream::kSyntheticDense, static_cast<std::uint64_t>(row),
                                     static_cast<std::uint32_t>(c));
      out[c] = (2.0F * UnitFloat(words[0]) - 1.0F) / static_cast<float>(rows);
    }
  });
}

}  // namespace

SparseBenchmarkResult RunSparseBenchmark(const SparseBenchmarkConfig& config,
                                         EmbeddingBagCollection& embeddings, ThreadPool& pool) {
  std::vector<std::int64_t> columns;
  std::int64_t width = 0;
  for (std::size_t f = 0; f < config.features.size(); ++f) {
    columns.push_back(width);
    width += embeddings.table(embeddings.TableOfFeature(static_cast<std::int64_t>(f))).config().embedding_dim;
  }
  Buffer<float> pooled(width * config.batch_size);
  Buffer<float> gradient;
  FillGradient(gradient, width, config.batch_size, config.data.seed, pool);

  SyntheticSource source(config.data, &pool);
  source.StartEpoch(0);
  Batch batch;
  SparseBenchmarkResult result;
  for (std::int64_t step = 0; step < config.warmup + config.steps; ++step) {
    source.Next(config.batch_size, batch);
    const double begin = NowSeconds();
    embeddings.Forward(batch.sparse, {pooled.data(), width, columns}, pool);
    const double middle = NowSeconds();
    embeddings.Backward(batch.sparse, {gradient.data(), width, columns}, config.reduction_units, step + 1,
                        pool);
    const double end = NowSeconds();
    if (step < config.warmup) continue;
    result.forward_seconds.push_back(middle - begin);
    result.backward_seconds.push_back(end - middle);
  }
  result.ids_per_step = static_cast<std::int64_t>(batch.sparse.values().size());
  return result;
}

}  // namespace hotrow
