#include "hotrow/sharded/replicas.h"

#include <algorithm>

#include "hotrow/base/index.h"

namespace hotrow {
namespace {

// Closes, when its scope ends, lists that a failed update has left open.
class CloseListsAtExit {
 public:
  explicit CloseListsAtExit(PeerLists& lists) : lists_(lists) {}
  ~CloseListsAtExit() { lists_.Close(); }
  CloseListsAtExit(const CloseListsAtExit&) = delete;
  CloseListsAtExit& operator=(const CloseListsAtExit&) = delete;

 private:
  PeerLists& lists_;
};

}  // namespace

void Replicas::Update(std::span<const BagGradients> tables, BackwardKernel kernel, std::int64_t units,
                      OptimizerStep step) {
  touched_.resize(tables.size());
  lists_.clear();
  const std::int64_t own_units = std::max<std::int64_t>(1, units / comm_.size());
  for (std::size_t t = 0; t < tables.size(); ++t) {
    sum_.Run(tables[t], own_units, pool_, touched_[t]);
    const std::int64_t count = touched_[t].count;
    const std::int64_t dim = tables[t].table->dim();
    lists_.push_back(std::as_bytes(std::span(touched_[t].rows.data(), Index(count))));
    lists_.push_back(std::as_bytes(std::span(touched_[t].gradients.data(), Index(count * dim))));
    sent_bytes_ += (comm_.size() - 1) * count * (8 + 4 * dim);
  }
  const CloseListsAtExit guard(sums_);
  sums_.Open(lists_);

  top_.clear();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    BagGradients top{tables[t].table, {}, comm_.size()};
    for (int r = 0; r < comm_.size(); ++r) {
      FeatureBags bags;  // a touched row is a bag of one id
      bags.ids = sums_.list<std::int64_t>(r, 2 * t);
      bags.fixed_size = 1;
      bags.samples = std::ssize(bags.ids);
      top.features.push_back({bags, sums_.list<float>(r, 2 * t + 1).data(), tables[t].table->dim()});
    }
    top_.push_back(std::move(top));
  }
  if (kernel == BackwardKernel::kFused) {
    fused_.Run(top_, step, kUnitPerSegment, pool_);
  } else {
    unfused_.Run(top_, step, kUnitPerSegment, pool_);
  }
  sums_.Release();
}

}  // namespace hotrow
