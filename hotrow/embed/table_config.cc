#include "hotrow/embed/table_config.h"

#include <cmath>
#include <set>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"

namespace hotrow {

float InitBound(const EmbeddingTableConfig& config) {
  return static_cast<float>(std::sqrt(1.0 / static_cast<double>(config.num_embeddings)));
}

PoolingType ParsePoolingType(const std::string& text) {
  if (text == "sum") return PoolingType::kSum;
  if (text == "mean") return PoolingType::kMean;
  Fail("unknown pooling '{}', must be one of: sum, mean", text);
}

void Validate(const std::vector<EmbeddingTableConfig>& tables) {
  std::set<std::string> names;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const EmbeddingTableConfig& table = tables[t];
    if (table.name.empty()) Fail("embedding table {}: name is empty", t);
    if (!names.insert(table.name).second) {
      Fail("embedding table {}: name '{}' is taken by another table", t, table.name);
    }
    if (table.num_embeddings < 1) {
      Fail("embedding table '{}': num_embeddings is {}, must be >= 1", table.name, table.num_embeddings);
    }
    if (table.embedding_dim < 1) {
      Fail("embedding table '{}': embedding_dim is {}, must be >= 1", table.name, table.embedding_dim);
    }
    CheckedMul(CheckedMul(table.num_embeddings, table.embedding_dim), 3 * sizeof(float));
  }
}

}  // namespace hotrow
