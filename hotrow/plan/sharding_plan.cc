#include "hotrow/plan/sharding_plan.h"

#include "hotrow/base/error.h"

namespace hotrow {

std::string ToString(ShardingType type) {
  switch (type) {
    case ShardingType::kTableWise:
      return "table_wise";
    case ShardingType::kColumnWise:
      return "column_wise";
    case ShardingType::kRowWise:
      return "row_wise";
    case ShardingType::kGrid:
      return "grid";
    case ShardingType::kDataParallel:
      return "data_parallel";
  }
  HOTROW_CHECK(false);
  return {};
}

}  // namespace hotrow
