#pragma once
// The model, data and plans of the matrix: small, and odd where a mistake would hide.

#include <cstdint>
#include <string>
#include <vector>

#include "hotrow/data/batch.h"
#include "hotrow/plan/sharding_plan.h"
#include "hotrow/train/trainer.h"
#include "tests/support/uneven_plans.h"

namespace hotrow::matrix {

/// Kinds of bags; the same for all batches of a run.
struct Bags {
  bool fixed = false;
  bool weighted = false;
  auto operator<=>(const Bags&) const = default;
};

/// One optimizer for tables and tower; or a mixed model: tables of three widths, each with an optimizer and
/// initial values of its own, under a schedule, with clipping and weighted samples.
enum class Learning { kSgd, kAdagrad, kRowWiseAdagrad, kAdam, kMixed };
std::string ToString(Learning learning);

/// Five tables of few rows and many, SUM and MEAN, one with two features; a tower of a few neurons. Plan,
/// seed and the like are left as they are.
const TrainerConfig& ModelFor(Learning learning);

/// Whole plans as the rules make them, mixed ones uneven.
ShardingPlan PlanFor(PlanOf plan, Learning learning, std::int64_t world);

/// Global batches of the steps: none divides evenly into 8 units, one is smaller than 8 ranks. Ids repeat
/// within bags and across ranks; some are outside their tables.
const std::vector<Batch>& GlobalBatches(Bags bags, bool sample_weights);

}  // namespace hotrow::matrix
