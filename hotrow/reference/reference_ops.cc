#include "hotrow/reference/reference_ops.h"

#include <cstddef>

namespace hotrow::reference {
namespace {

// Cuts jagged data into its bags.
std::vector<std::vector<std::int64_t>> BagsOf(const Jagged& in) {
  std::vector<std::vector<std::int64_t>> bags;
  auto next = in.values.begin();
  for (const std::int32_t length : in.lengths) {
    bags.emplace_back(next, next + length);
    next += length;
  }
  return bags;
}

void Append(Jagged& out, const std::vector<std::int64_t>& bag) {
  out.lengths.push_back(static_cast<std::int32_t>(bag.size()));
  out.values.insert(out.values.end(), bag.begin(), bag.end());
}

}  // namespace

double RocAuc(const std::vector<float>& scores, const std::vector<std::int32_t>& labels) {
  double won = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      pairs += 1;
      won += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
    }
  }
  return won / pairs;
}

Jagged PermuteRows(const Jagged& in, std::int64_t bags, const std::vector<std::int32_t>& order) {
  const auto all = BagsOf(in);
  Jagged out;
  for (const std::int32_t row : order) {
    for (std::int64_t b = 0; b < bags; ++b) Append(out, all.at(static_cast<std::size_t>(row * bags + b)));
  }
  return out;
}

Jagged Bucketize(const Jagged& in, std::int64_t samples, std::int64_t owners,
                 const std::vector<std::int64_t>& block_sizes) {
  const auto all = BagsOf(in);
  Jagged out;
  for (std::int64_t owner = 0; owner < owners; ++owner) {
    for (std::size_t bag = 0; bag < all.size(); ++bag) {
      const std::int64_t block = block_sizes.at(bag / static_cast<std::size_t>(samples));
      std::vector<std::int64_t> mine;
      for (const std::int64_t id : all[bag]) {
        if (id / block == owner) mine.push_back(id % block);
      }
      Append(out, mine);
    }
  }
  return out;
}

}  // namespace hotrow::reference
