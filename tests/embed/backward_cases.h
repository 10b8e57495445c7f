#pragma once
// Tables, random bags and random gradients: what every backward is tested with.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hotrow/embed/bag_gradients.h"
#include "tests/embed/random_bags.h"

namespace hotrow::test {

/// One table's bags and gradients, apart from the table.
class BackwardCase {
 public:
  /// A feature for each shape; all with the same samples and rows.
  BackwardCase(const std::vector<BagShape>& shapes, std::int64_t dim, PoolingType pooling, std::uint64_t seed)
      : config_{"t", shapes[0].rows, dim, pooling, {}} {
    RandomSequence random(seed, RandomStream::kSyntheticDense);
    for (const BagShape& shape : shapes) {
      bags_.push_back(std::make_unique<RandomBags>(shape, seed + bags_.size()));
      std::vector<float> gradient(static_cast<std::size_t>(shape.samples * (dim + 3)));
      for (float& g : gradient) g = static_cast<float>(random.NextNormal());
      gradients_.push_back(std::move(gradient));
    }
  }

  const EmbeddingTableConfig& config() const { return config_; }
  std::unique_ptr<EmbeddingTable> MakeTable(const OptimizerConfig& optimizer, StorageKind storage,
                                            ThreadPool& pool) const {
    EmbeddingTableConfig config = config_;
    config.optimizer = optimizer;
    return std::make_unique<EmbeddingTable>(config, TableShard{}, storage, 1, 17, pool);
  }
  BagGradients On(EmbeddingTable& table) const {
    BagGradients input{&table, {}};
    for (std::size_t f = 0; f < bags_.size(); ++f) {
      input.features.push_back({bags_[f]->bags, gradients_[f].data(), config_.embedding_dim + 3});
    }
    return input;
  }

 private:
  EmbeddingTableConfig config_;
  std::vector<std::unique_ptr<RandomBags>> bags_;
  std::vector<std::vector<float>> gradients_;
};

/// Shapes by name; the names tell what they are for.
inline std::vector<std::pair<std::string, std::vector<BagShape>>> BackwardShapes() {
  return {
      {"small", {{.samples = 37, .rows = 50, .largest = 5, .skipped = 0.2}}},
      {"one row, one sample", {{.samples = 1, .rows = 1, .largest = 9, .fixed = true}}},
      {"all duplicates", {{.samples = 61, .rows = 1000, .largest = 20, .distinct = 1}}},
      {"all empty", {{.samples = 8, .rows = 30, .largest = 0, .fixed = true}}},
      {"all skipped", {{.samples = 8, .rows = 30, .largest = 3, .fixed = true, .skipped = 1.0}}},
      {"no samples", {{.samples = 0, .rows = 30, .largest = 3}}},
      {"weighted", {{.samples = 64, .rows = 30, .largest = 4, .weighted = true, .skipped = 0.3}}},
      {"shared by three features",
       {{.samples = 75, .rows = 40, .largest = 3, .fixed = true},
        {.samples = 75, .rows = 40, .largest = 6},
        {.samples = 75, .rows = 40, .largest = 2, .skipped = 0.5}}},
      {"several chunks and buckets",
       {{.samples = 2500, .rows = 70'000, .largest = 40, .fixed = true, .distinct = 9000}}},
  };
}

}  // namespace hotrow::test
