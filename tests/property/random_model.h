#pragma once
// Random models and batches for property tests: every shape that is legal and odd.

#include <cstdint>
#include <random>

#include "hotrow/data/batch.h"
#include "hotrow/model/config.h"
#include "hotrow/optim/optimizer_config.h"

namespace hotrow::property {

/// What std::mt19937_64 draws is fixed by the standard; the standard's distributions are not, so these are.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Between(0, 99) < percent; }
  float Uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(bits_() >> 40) * 0x1.0p-24F;
  }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(Between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 bits_;
};

/// One to six features over as many tables or fewer, SUM and MEAN, of one row to some dozens, dims 1, 3, 16,
/// 100 or 128, of one size or mixed; cross or dot.
ModelConfig RandomModel(Dice& dice);

/// How the bags of a batch are filled.
enum class Filling { kMixed, kAllEmpty, kOneId, kFixed };

/// One batch. `skipped` puts -1 among the ids; `weighted` gives them weights.
Batch RandomBatch(Dice& dice, const ModelConfig& model, std::int64_t samples, Filling filling, bool weighted,
                  bool skipped);

/// lr, eps and decay of a size that makes a wrong one visible after a step. eps is far above fp32's rounding
/// of a gradient: at 1e-8 the first Adagrad or Adam step amplifies that rounding and nothing could be told
/// apart.
OptimizerConfig RandomOptimizer(Dice& dice, OptimizerKind kind, WeightDecayMode decay);

}  // namespace hotrow::property
