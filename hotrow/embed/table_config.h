#pragma once
// An embedding table as plain data: TorchRec's EmbeddingBagConfig.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

enum class PoolingType { kSum, kMean };

enum class InitKind {
  kDefault,  ///< U(-b, +b), b = sqrt(1 / num_embeddings): the DLRM-v2 reference
  kUniform,  ///< U(-value, +value)
  kNormal,   ///< N(0, value^2)
  kZeros,
};

/// The distribution of a table's initial values (initial_values.h says which value stands where).
struct TableInit {
  InitKind kind = InitKind::kDefault;
  float value = 0.0F;  ///< kUniform's bound, kNormal's standard deviation

  friend bool operator==(const TableInit&, const TableInit&) = default;
};

/// "default", "uniform(A)", "normal(STD)", "zeros" and back, A and STD above 0; throws Error listing them.
TableInit ParseTableInit(const std::string& text);
std::string ToString(const TableInit& init);

struct EmbeddingTableConfig {
  std::string name = {};                    ///< "t_f0"
  std::int64_t num_embeddings = 0;          ///< rows, >= 1
  std::int64_t embedding_dim = 0;           ///< columns, >= 1
  PoolingType pooling = PoolingType::kSum;  ///< per-id weights, where a batch has them, make SUM weighted
  std::vector<std::string> feature_names =
      {};  ///< features that look up in this table, in the order of its canonical sums
  OptimizerConfig optimizer = {};
  TableInit init = {};

  friend bool operator==(const EmbeddingTableConfig&, const EmbeddingTableConfig&) = default;
};

/// "sum", "mean" and back; throws Error listing them.
PoolingType ParsePoolingType(const std::string& text);
std::string ToString(PoolingType pooling);

/// Gives every table that optimizer.
void SetOptimizer(std::vector<EmbeddingTableConfig>& tables, const OptimizerConfig& optimizer);

/// Throws Error naming table and field unless names are unique and non-empty, sizes are positive, and
/// optimizers and initial values are valid.
void Validate(const std::vector<EmbeddingTableConfig>& tables);

/// Table of each feature, in the order of `feature_names`. Throws Error unless every one has exactly one.
std::vector<std::size_t> TablesOfFeatures(const std::vector<EmbeddingTableConfig>& tables,
                                          const std::vector<std::string>& feature_names);

}  // namespace hotrow
