#pragma once
// What a plan gives each rank to hold and to do, for people to read.

#include <cstdint>
#include <map>
#include <span>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow {

/// Sums are floating point, exact below 2^53: an invalid plan's numbers may fit nothing else.
struct RankLoad {
  std::int64_t tables = 0;
  std::int64_t shards = 0;
  double rows = 0;             ///< of all its shards
  std::int64_t narrowest = 0;  ///< columns of its narrowest shard
  std::int64_t widest = 0;
  double weight_bytes = 0;
  double state_bytes = 0;
  double ids = 0;  ///< that it looks up a step: see LoadPerRank

  friend bool operator==(const RankLoad&, const RankLoad&) = default;
};

/// Load of every rank that has a shard, by rank, for steps of `global_batch` samples. State and ids of a
/// table come from the entry of `model` with its name; a table without one has none. An id counts once on
/// each rank it is sent to, however many column shards look it up there; row-wise ids are taken to spread
/// evenly over the rows, replicas' over the ranks. Never fails, not even for a plan that is not valid.
std::map<std::int64_t, RankLoad> LoadPerRank(const ShardingPlan& plan, std::span<const TableShape> model,
                                             std::int64_t global_batch);

}  // namespace hotrow
