#include "hotrow/sharded/column_peers.h"

#include <algorithm>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/embed/mean_square.h"

namespace hotrow {
namespace {

constexpr std::int64_t kRowsATask = 1024;

// All rows of a table, with zeros for those that `sparse` does not have.
void MakeDense(const TouchedRows& sparse, std::int64_t rows, std::int64_t dim, ThreadPool& pool,
               TouchedRows& dense) {
  dense.count = rows;
  dense.rows.EnsureSize(rows);
  dense.gradients.EnsureSize(rows * dim);
  pool.Run(CeilDiv(rows, kRowsATask), [&](std::int64_t task, int) {
    const std::int64_t first = task * kRowsATask;
    const std::int64_t end = std::min(rows, first + kRowsATask);
    for (std::int64_t row = first; row < end; ++row) dense.rows[row] = row;
    std::fill(dense.gradients.data() + first * dim, dense.gradients.data() + end * dim, 0.0F);
  });
  pool.Run(CeilDiv(sparse.count, kRowsATask), [&](std::int64_t task, int) {
    const std::int64_t end = std::min(sparse.count, (task + 1) * kRowsATask);
    for (std::int64_t i = task * kRowsATask; i < end; ++i)
      std::copy_n(sparse.gradients.data() + i * dim, dim, dense.gradients.data() + sparse.rows[i] * dim);
  });
}

}  // namespace

void ColumnPeers::FindPeers(const TablePlan& table, std::span<const BagGradients> shards) {
  peers_.clear();
  if (shards.empty()) return;
  const std::int64_t first_row = shards[0].table->shard().first_row;
  for (const PlanShard& shard : table.shards) {
    if (shard.first_row != first_row) continue;
    peers_.push_back({shard.rank, shard.first_column / kShardColumnUnit, SquareGroups(shard.columns)});
  }
  std::sort(peers_.begin(), peers_.end(),
            [](const Peer& a, const Peer& b) { return a.first_group < b.first_group; });
}

void ColumnPeers::SumShard(const BagGradients& shard, BackwardKernel kernel, std::int64_t units,
                           TouchedRows& out) {
  if (kernel == BackwardKernel::kFused) {
    sum_.Run(shard, units, pool_, out);
    return;
  }
  sum_.Run(shard, units, pool_, sparse_);
  MakeDense(sparse_, shard.table->rows(), shard.table->dim(), pool_, out);
}

// Sends own_sums_, the own shards' sums one after another, to every rank that has a peer; all ranks call it.
void ColumnPeers::Exchange(std::int64_t rows) {
  std::vector<std::int64_t> groups(Index(comm_.size()));  // of each rank
  for (const Peer& peer : peers_) groups[Index(peer.rank)] += peer.groups;
  std::vector<std::int64_t> first(1, 0);
  for (const std::int64_t of_rank : groups) first.push_back(first.back() + of_rank * rows);
  received_.EnsureSize(first.back());
  Parts<float> parts(comm_);
  for (int r = 0; r < comm_.size(); ++r) {
    const auto rank = Index(r);
    if (groups[rank] == 0) continue;
    parts.Send(r, own_sums_.span());
    if (r != comm_.rank()) sent_bytes_ += static_cast<std::int64_t>(own_sums_.span().size_bytes());
    parts.Receive(r, received_.span().subspan(Index(first[rank]), Index(first[rank + 1] - first[rank])));
  }
  parts.Start(comm_).Wait();
  for (Peer& peer : peers_) {
    std::int64_t& next = first[Index(peer.rank)];
    peer.sums = received_.data() + next;
    next += peer.groups * rows;
  }
}

void ColumnPeers::MeanOverPeers(const TablePlan& table, std::int64_t rows) {
  mean_squares_.EnsureSize(rows);
  pool_.Run(CeilDiv(rows, kRowsATask), [&](std::int64_t task, int) {
    std::vector<float> row_sums(Index(SquareGroups(table.dim)));
    for (std::int64_t i = task * kRowsATask; i < std::min(rows, (task + 1) * kRowsATask); ++i) {
      for (const Peer& peer : peers_)
        std::copy_n(peer.sums + i * peer.groups, peer.groups, row_sums.data() + peer.first_group);
      mean_squares_[i] = MeanSquare(row_sums.data(), table.dim);
    }
  });
}

void ColumnPeers::Update(const TablePlan& table, std::span<const BagGradients> shards, BackwardKernel kernel,
                         std::int64_t units, OptimizerStep step) {
  FindPeers(table, shards);
  if (touched_.size() < shards.size()) touched_.resize(shards.size());
  std::int64_t groups = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    SumShard(shards[i], kernel, units, touched_[i]);
    HOTROW_CHECK(touched_[i].count == touched_[0].count);
    groups += SquareGroups(shards[i].table->dim());
  }
  const std::int64_t rows = shards.empty() ? 0 : touched_[0].count;
  own_sums_.EnsureSize(rows * groups);
  float* sums = own_sums_.data();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    SquareGroupsOfRows(*shards[i].table, touched_[i], sums, scratch_, pool_);
    sums += rows * SquareGroups(shards[i].table->dim());
  }
  Exchange(rows);
  if (shards.empty()) return;
  MeanOverPeers(table, rows);
  for (std::size_t i = 0; i < shards.size(); ++i)
    ApplyToRows(*shards[i].table, step, touched_[i], mean_squares_.data(), scratch_, pool_);
}

}  // namespace hotrow
