#pragma once
// Training on thread ranks and on one rank, to compare.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "hotrow/comm/collectives.h"
#include "hotrow/comm/thread_ranks.h"
#include "hotrow/plan/make_plan.h"
#include "hotrow/plan/units_of_ranks.h"
#include "hotrow/sharded/table_shapes.h"
#include "tests/train/small_model.h"

namespace hotrow {

/// RunThreadRanks; a rank that waits for half a minute is a failure, not a hang.
template <typename Body>
void OnRanks(int ranks, Body&& body) {
  RunThreadRanks(ranks, body, {.timeout_seconds = 30});
}

/// What the ranks' failure says; "no error" where there was none.
template <typename Body>
std::string ErrorOnRanks(int ranks, Body&& body) {
  try {
    OnRanks(ranks, body);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

inline ShardingPlan PlanOf(PlanKind kind, const ModelConfig& model, std::int64_t ranks) {
  return MakePlan(kind, TableShapes(model.tables, model.features), ranks);
}

/// This rank's part of a global batch of `samples`.
inline Batch OwnBatch(const SyntheticSource& source, std::int64_t step, std::int64_t samples,
                      std::int64_t units, const Communicator& comm) {
  const Slice own = SamplesOfRank(samples, units, comm.size(), comm.rank());
  Batch batch;
  source.Fill(step, step * samples + own.begin, own.size(), batch);
  return batch;
}

/// Every rank's floats, one after another, on each.
inline std::vector<float> Joined(Communicator& comm, std::span<const float> mine) {
  std::vector<float> all;
  for (const std::vector<float>& of_rank : AllGatherV(comm, mine))
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  return all;
}

}  // namespace hotrow
