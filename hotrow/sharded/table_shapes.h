#pragma once
// What a sharding plan needs to know of a model's embedding tables.

#include <span>
#include <string>
#include <vector>

#include "hotrow/embed/table_config.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Fills in what an optimizer keeps for a table.
void AddStateOf(OptimizerKind optimizer, TableShape& shape);

/// The tables in order. `ids_per_sample` of each feature, in the order of `feature_names`; empty: one id
/// each. Throws Error unless every feature has exactly one table.
std::vector<TableShape> TableShapes(const std::vector<EmbeddingTableConfig>& tables,
                                    const std::vector<std::string>& feature_names,
                                    std::span<const double> ids_per_sample = {});

}  // namespace hotrow
