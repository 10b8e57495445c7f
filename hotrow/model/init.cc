#include "hotrow/model/init.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"

namespace hotrow {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Element i, counted in TorchRec's order, is value(four random words that belong to it alone).
template <typename Value>
void Fill(Parameters& parameters, std::int64_t index, std::uint64_t seed, ThreadPool& pool, Value&& value) {
  constexpr std::int64_t kElementsATask = 1 << 16;
  const Parameter& parameter = parameters.list()[Index(index)];
  const std::uint64_t key = MixSeed(seed, XXH3_64bits(parameter.name.data(), parameter.name.size()));
  std::vector<float> values(Index(parameter.size()));
  pool.Run(CeilDiv(parameter.size(), kElementsATask), [&](std::int64_t task, int) {
    const std::int64_t end = std::min(parameter.size(), (task + 1) * kElementsATask);
    for (std::int64_t i = task * kElementsATask; i < end; ++i) {
      values[Index(i)] = value(RandomWords(key, RandomStream::kDenseInit, static_cast<std::uint64_t>(i), 0));
    }
  });
  parameters.Import(index, values, parameters.weights());
}

}  // namespace

void InitUniform(Parameters& parameters, std::int64_t index, double bound, std::uint64_t seed,
                 ThreadPool& pool) {
  Fill(parameters, index, seed, pool, [bound](const Words& words) {
    return static_cast<float>(bound * (2.0 * UnitDouble(words[0], words[1]) - 1.0));
  });
}

void InitNormal(Parameters& parameters, std::int64_t index, double sigma, std::uint64_t seed,
                ThreadPool& pool) {
  // Box-Muller; the first uniform is turned to (0, 1], where the logarithm is finite.
  Fill(parameters, index, seed, pool, [sigma](const Words& words) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - UnitDouble(words[0], words[1])));
    return static_cast<float>(sigma * radius *
                              std::cos(2.0 * std::numbers::pi * UnitDouble(words[2], words[3])));
  });
}

}  // namespace hotrow
