#include "hotrow/embed/table_config.h"

#include <algorithm>
#include <cmath>
#include <map>
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

std::vector<std::size_t> TablesOfFeatures(const std::vector<EmbeddingTableConfig>& tables,
                                          const std::vector<std::string>& feature_names) {
  std::map<std::string, std::size_t> table_of;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (const std::string& feature : tables[t].feature_names) {
      const auto [place, is_new] = table_of.emplace(feature, t);
      if (!is_new) {
        Fail("feature '{}' is looked up in two tables, '{}' and '{}'; it must have one", feature,
             tables[place->second].name, tables[t].name);
      }
      if (std::find(feature_names.begin(), feature_names.end(), feature) == feature_names.end()) {
        Fail("table '{}': feature '{}' is not among the batch's features", tables[t].name, feature);
      }
    }
  }
  std::vector<std::size_t> out;
  for (const std::string& feature : feature_names) {
    const auto found = table_of.find(feature);
    if (found == table_of.end()) Fail("feature '{}' has no embedding table", feature);
    out.push_back(found->second);
  }
  return out;
}

}  // namespace hotrow
