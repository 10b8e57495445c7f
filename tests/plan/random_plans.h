#pragma once
// Random models and plans for property tests; the same seed gives the same.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hotrow/plan/sharding_plan.h"
#include "hotrow/plan/table_shape.h"

namespace hotrow::testing {

using Random = std::mt19937_64;

/// Uniform in [least, most].
std::int64_t Uniform(Random& random, std::int64_t least, std::int64_t most);

/// A table of ordinary size, one feature.
TableShape Table(const std::string& name, std::int64_t rows, std::int64_t dim, double ids_per_sample = 1,
                 std::int64_t feature = 0);

/// `tables` tables of 1 to 10^7 rows and 1 to 260 columns with 1 to 3 features each; their features'
/// positions are shuffled.
std::vector<TableShape> RandomModel(Random& random, std::int64_t tables);

/// A valid plan: every table its own sharding, column splits unequal and ragged, shards shuffled.
ShardingPlan RandomMixedPlan(Random& random, const std::vector<TableShape>& model, std::int64_t world);

/// A plan of arbitrary numbers, hardly ever valid.
ShardingPlan RandomNonsense(Random& random);

/// what() of the Error that `call` throws; "no error" otherwise.
template <typename Call>
std::string ErrorOf(Call&& call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace hotrow::testing
