#include "hotrow/comm/peer_lists.h"

#include <algorithm>

#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"

namespace hotrow {

void PeerLists::Open(std::span<const std::span<const std::byte>> mine) {
  own_.assign(mine.begin(), mine.end());
  of_rank_.clear();
  if (comm_.shares_memory()) {
    share_.emplace(comm_, std::span<const List>(own_));
    of_rank_.assign(share_->spans().begin(), share_->spans().end());
  } else {
    Gather();
  }
}

void PeerLists::Release() {
  if (share_) share_->Release();
  Close();
}

// Every list begins on a line of its own, the same on all ranks.
void PeerLists::Gather() {
  constexpr std::int64_t kLine = 64;
  const auto ranks = Index(comm_.size());
  std::vector<std::int64_t> mine;
  for (const List& list : own_) mine.push_back(std::ssize(list));
  std::vector<std::int64_t> sizes(ranks * mine.size());
  AllGather<std::int64_t>(comm_, mine, sizes);

  std::vector<std::int64_t> bytes_of_rank(ranks, 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) bytes_of_rank[i / mine.size()] += RoundUp(sizes[i], kLine);
  std::int64_t total = 0;
  for (const std::int64_t bytes : bytes_of_rank) total = CheckedAdd(total, bytes);
  bytes_.EnsureSize(total);

  gathered_.clear();
  std::byte* at = bytes_.data();
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::int64_t size = sizes[r * mine.size() + i];
      gathered_.emplace_back(at, Index(size));
      if (r == Index(comm_.rank())) {
        std::copy_n(own_[i].data(), size, at);
        std::fill_n(at + size, RoundUp(size, kLine) - size, std::byte{0});
      }
      at += RoundUp(size, kLine);
    }
  }
  StartAllGatherInPlace<std::byte>(comm_, Cut(bytes_.span(), bytes_of_rank)).Wait();
  for (std::size_t r = 0; r < ranks; ++r) {
    of_rank_.push_back(std::span<const List>(gathered_).subspan(r * mine.size(), mine.size()));
  }
}

}  // namespace hotrow
