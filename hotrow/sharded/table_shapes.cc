#include "hotrow/sharded/table_shapes.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"

namespace hotrow {

void AddStateOf(OptimizerKind optimizer, TableShape& shape) {
  shape.state_per_row = StateWidth(optimizer, 0);
  shape.state_per_element = StateWidth(optimizer, 1) - shape.state_per_row;
}

std::vector<TableShape> TableShapes(const std::vector<EmbeddingTableConfig>& tables,
                                    const std::vector<std::string>& feature_names,
                                    std::span<const double> ids_per_sample) {
  HOTROW_CHECK(ids_per_sample.empty() || ids_per_sample.size() == feature_names.size());
  TablesOfFeatures(tables, feature_names);
  std::vector<TableShape> shapes;
  for (const EmbeddingTableConfig& table : tables) {
    TableShape shape;
    shape.name = table.name;
    shape.rows = table.num_embeddings;
    shape.dim = table.embedding_dim;
    AddStateOf(table.optimizer.kind, shape);
    for (const std::string& feature : table.feature_names) {
      const auto place =
          std::find(feature_names.begin(), feature_names.end(), feature) - feature_names.begin();
      shape.features.push_back(place);
      shape.ids_per_sample += ids_per_sample.empty() ? 1.0 : ids_per_sample[Index(place)];
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace hotrow
