#include "hotrow/measure/bench_config.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hotrow/comm/process.h"

namespace hotrow {

std::int64_t BenchRun::rows() const {
  std::int64_t sum = 0;
  for (const EmbeddingTableConfig& table : config.trainer.model.tables)
    sum = CheckedAdd(sum, table.num_embeddings);
  return sum;
}

std::int64_t BenchRun::ids_per_step() const {
  const std::vector<std::int32_t>& sizes = config.data.bag_sizes;
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) * global_batch();
}

BenchRun DescribeRun(std::string part, const BenchConfig& config, Communicator& comm, int threads) {
  BenchRun run{.part = std::move(part),
               .config = config,
               .world = comm.size(),
               .threads = ProcessThreads(comm, threads),
               .transport = comm.shares_memory() ? "threads" : "mpi"};
  return run;
}

int WireIdBytes(const BenchConfig& config) {
  const std::vector<EmbeddingTableConfig>& tables = config.trainer.model.tables;
  const auto largest = std::max_element(tables.begin(), tables.end(),
                                        [](const EmbeddingTableConfig& a, const EmbeddingTableConfig& b) {
                                          return a.num_embeddings < b.num_embeddings;
                                        });
  return WireIdBytes(config.trainer.dist.id_bytes, largest->name, largest->num_embeddings);
}

std::optional<double> GigabytesPerSecond(std::int64_t bytes, double seconds) {
  if (seconds <= 0) return std::nullopt;
  return static_cast<double>(bytes) / seconds / 1e9;
}

}  // namespace hotrow
