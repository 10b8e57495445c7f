#pragma once
// Which ids of a batch go to which rank: made once from the sharding plan, the same for every batch.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hotrow/dist/options.h"
#include "hotrow/plan/plan_queries.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Where a feature's ids go.
struct FeatureRoute {
  bool split = false;        ///< row_wise and grid tables: each id goes to the owner of its row
  RowSplit rows;             ///< split: rank first_ranks[g] + bucket for each group g
  std::int64_t buckets = 0;  ///< split: those that have rows
};

/// Where one bucket of a feature that is split goes.
struct BucketRoute {
  std::size_t split = 0;  ///< which of the features that are split
  std::size_t bucket = 0;
  bool repeat = false;    ///< not the first group of ranks to receive it
  std::size_t pack = 0;   ///< see InputRoutes::pack_of_rank
  std::size_t place = 0;  ///< of the feature in the pack
};

/// Of one rank in a world of ranks().
struct InputRoutes {
  std::size_t rank = 0;
  int id_bytes = 8;                                         ///< of an id on the wire
  std::vector<FeatureRoute> features;                       ///< of the batch
  std::vector<std::vector<std::int64_t>> features_of_rank;  ///< those each rank receives, ascending
  std::vector<std::size_t> pack_of_rank;  ///< ranks that receive the same features whole share one pack
  std::vector<std::size_t> rank_of_pack;  ///< the first rank that receives it
  std::vector<BucketRoute> buckets;

  std::size_t ranks() const { return features_of_rank.size(); }
  const std::vector<std::int64_t>& received() const { return features_of_rank[rank]; }
  bool any_split() const { return !buckets.empty(); }
};

/// `model` in the plan's order, its features positions among the batch's `num_features` keys. Throws Error
/// when 4-byte ids are asked for and a table has 2^31 rows or more.
InputRoutes MakeInputRoutes(const ShardingPlan& plan, std::span<const TableShape> model,
                            std::int64_t num_features, IdBytes id_bytes, std::size_t rank);

}  // namespace hotrow
