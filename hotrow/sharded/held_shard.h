#pragma once
// A rank's part of one table, and how it takes part in lookup and backward.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hotrow/embed/table.h"
#include "hotrow/plan/sharding_plan.h"

namespace hotrow {

struct HeldShard {
  std::int64_t table_index = 0;  ///< in the model
  PlanShard place;
  std::unique_ptr<EmbeddingTable> table;  ///< of these rows and columns
  std::vector<std::int64_t> features;     ///< positions among the batch's keys, in the table's order
  bool replica = false;                   ///< of a data_parallel table: looks up its own rank's samples alone
  std::size_t first_piece = 0;  ///< features' pieces in the output dist follow one another from here
};

}  // namespace hotrow
