#pragma once
// The model, data and plans of the matrix: small, and odd where a mistake would hide.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/model/config.h"
#include "hotrow/plan/sharding_plan.h"

namespace hotrow::matrix {

enum class PlanOf { kTableWise, kColumnWise, kDataParallel, kMixed, kRowWise, kGrid, kMixedWithRows };
std::string ToString(PlanOf plan);
/// Whether the plan promises the bits of one rank.
bool PromisesBits(PlanOf plan);

/// Kinds of bags; the same for all batches of a run.
struct Bags {
  bool fixed = false;
  bool weighted = false;
  auto operator<=>(const Bags&) const = default;
};

/// Five tables of few rows and many, SUM and MEAN, one with two features; a tower of a few neurons.
const ModelConfig& Model();

/// kMixed: each table another way, columns cut unequally, several shards on one rank.
ShardingPlan PlanFor(PlanOf plan, std::int64_t world);

/// Global batches of the steps: none divides evenly into 8 units, one is smaller than 8 ranks. Ids repeat
/// within bags and across ranks; some are outside their tables.
const std::vector<Batch>& GlobalBatches(Bags bags);

}  // namespace hotrow::matrix
