#include "hotrow/sharded/replicas.h"

#include <algorithm>

#include "hotrow/base/index.h"
#include "hotrow/comm/collectives.h"

namespace hotrow {
namespace {

// buffer[first[r], first[r + 1]) for each rank r.
template <typename T>
std::vector<std::span<T>> Parted(Buffer<T>& buffer, const std::vector<std::int64_t>& first) {
  std::vector<std::span<T>> parts;
  for (std::size_t r = 0; r + 1 < first.size(); ++r)
    parts.push_back(buffer.span().subspan(Index(first[r]), Index(first[r + 1] - first[r])));
  return parts;
}

}  // namespace

// Every rank's sums of every table into gathered_.
void Replicas::Gather(std::span<const BagGradients> tables) {
  const auto ranks = Index(comm_.size());
  const auto self = Index(comm_.rank());
  std::vector<std::int64_t> mine;
  for (const Sums& sums : own_) mine.push_back(sums.count);
  std::vector<std::int64_t> counts(ranks * mine.size());
  AllGather<std::int64_t>(comm_, mine, counts);

  std::vector<std::int64_t> first_row(1, 0);  // of each rank
  std::vector<std::int64_t> first_float(1, 0);
  gathered_.assign(counts.size(), {});
  for (std::size_t r = 0; r < ranks; ++r) {
    first_row.push_back(first_row.back());
    first_float.push_back(first_float.back());
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const std::int64_t count = counts[r * tables.size() + t];
      first_row.back() += count;
      first_float.back() += count * tables[t].table->dim();
    }
  }
  rows_.EnsureSize(first_row.back());
  gradients_.EnsureSize(first_float.back());
  for (std::size_t r = 0; r < ranks; ++r) {
    std::int64_t row = first_row[r];
    std::int64_t element = first_float[r];
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const std::int64_t count = counts[r * tables.size() + t];
      gathered_[r * tables.size() + t] = {rows_.data() + row, gradients_.data() + element, count};
      const std::int64_t floats = count * tables[t].table->dim();
      if (r == self && count > 0) {
        std::copy_n(own_[t].rows, count, rows_.data() + row);
        std::copy_n(own_[t].gradients, floats, gradients_.data() + element);
      }
      row += count;
      element += floats;
    }
  }
  StartAllGatherInPlace<std::int64_t>(comm_, Parted(rows_, first_row)).Wait();
  StartAllGatherInPlace<float>(comm_, Parted(gradients_, first_float)).Wait();
  for (std::size_t r = 0; r < ranks; ++r)
    of_rank_.push_back(std::span<const Sums>(gathered_).subspan(r * tables.size(), tables.size()));
}

void Replicas::Update(std::span<const BagGradients> tables, BackwardKernel kernel, std::int64_t units,
                      OptimizerStep step) {
  touched_.resize(tables.size());
  own_.resize(tables.size());
  const std::int64_t own_units = std::max<std::int64_t>(1, units / comm_.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    sum_.Run(tables[t], own_units, pool_, touched_[t]);
    own_[t] = {touched_[t].rows.data(), touched_[t].gradients.data(), touched_[t].count};
    const std::int64_t row_bytes = 8 + 4 * tables[t].table->dim();
    sent_bytes_ += (comm_.size() - 1) * own_[t].count * row_bytes;
  }
  of_rank_.clear();
  std::optional<Share<const Sums>> share;
  if (comm_.shares_memory()) {
    share.emplace(comm_, std::span<const Sums>(own_));
    of_rank_.assign(share->spans().begin(), share->spans().end());
  } else {
    Gather(tables);
  }

  top_.clear();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    BagGradients top{tables[t].table, {}, comm_.size()};
    for (const std::span<const Sums> of_rank : of_rank_) {
      const Sums& sums = of_rank[t];
      FeatureBags bags;  // a touched row is a bag of one id
      bags.ids = {sums.rows, Index(sums.count)};
      bags.fixed_size = 1;
      bags.samples = sums.count;
      top.features.push_back({bags, sums.gradients, tables[t].table->dim()});
    }
    top_.push_back(std::move(top));
  }
  if (kernel == BackwardKernel::kFused) {
    fused_.Run(top_, step, kUnitPerSegment, pool_);
  } else {
    unfused_.Run(top_, step, kUnitPerSegment, pool_);
  }
  if (share) share->Release();
}

}  // namespace hotrow
