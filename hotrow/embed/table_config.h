#pragma once
// An embedding table as plain data: TorchRec's EmbeddingBagConfig.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotrow {

enum class PoolingType { kSum, kMean };

struct EmbeddingTableConfig {
  std::string name;                         ///< "t_f0"
  std::int64_t num_embeddings = 0;          ///< rows, >= 1
  std::int64_t embedding_dim = 0;           ///< columns, >= 1
  PoolingType pooling = PoolingType::kSum;  ///< per-id weights, where a batch has them, make SUM weighted
  std::vector<std::string>
      feature_names;  ///< features that look up in this table, in the order of its canonical sums
};

/// Bound of a table's initial values, U(-b, +b): b = sqrt(1 / num_embeddings) (the DLRM-v2 reference).
float InitBound(const EmbeddingTableConfig& config);

/// "sum", "mean"; throws Error listing them.
PoolingType ParsePoolingType(const std::string& text);

/// Throws Error naming table and field unless names are unique and non-empty and sizes are positive.
void Validate(const std::vector<EmbeddingTableConfig>& tables);

/// Table of each feature, in the order of `feature_names`. Throws Error unless every one has exactly one.
std::vector<std::size_t> TablesOfFeatures(const std::vector<EmbeddingTableConfig>& tables,
                                          const std::vector<std::string>& feature_names);

}  // namespace hotrow
