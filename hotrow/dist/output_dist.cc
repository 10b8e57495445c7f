#include "hotrow/dist/output_dist.h"

#include <algorithm>
#include <bit>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/base/tree_sum.h"
#include "hotrow/comm/collectives.h"
#include "hotrow/dist/for_each_row.h"

namespace hotrow {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

template <typename T>
std::span<T> Part(Buffer<T>& buffer, std::int64_t first, std::int64_t count) {
  return buffer.span().subspan(Index(first), Index(count));
}

// out = scale * the tree sum of `sources`, each [columns]. `scratch` holds a row for each level of the tree.
void SumRow(std::span<const float* const> sources, std::int64_t columns, const float* scale, float* scratch,
            float* out) {
  TreeStack stack;
  const float* slots[65];
  const auto merge = [&](int into, int from) {
    float* sum = scratch + into * columns;
    for (std::int64_t c = 0; c < columns; ++c) sum[c] = slots[into][c] + slots[from][c];
    slots[into] = sum;
  };
  for (std::size_t i = 0; i < sources.size(); ++i) slots[stack.Push(i, merge)] = sources[i];
  stack.Finish(merge);
  if (scale == nullptr) {
    std::copy_n(slots[0], columns, out);
  } else {
    for (std::int64_t c = 0; c < columns; ++c) out[c] = slots[0][c] * *scale;
  }
}

}  // namespace

OutputDist::OutputDist(std::vector<std::vector<PooledPiece>> pieces_of_rank, OutputPermute permute,
                       Communicator& comm, ThreadPool& pool)
    : permute_(comm.size() > 1 ? permute : OutputPermute::kNone), comm_(comm), pool_(pool) {
  HOTROW_CHECK(pieces_of_rank.size() == Index(comm.size()));
  ranks_.resize(pieces_of_rank.size());
  for (std::size_t r = 0; r < ranks(); ++r) {
    for (const PooledPiece& piece : pieces_of_rank[r]) AddPiece(r, piece);
  }
}

void OutputDist::AddPiece(std::size_t rank, const PooledPiece& piece) {
  Rank& owner = ranks_[rank];
  Layout layout{piece};
  layout.wire_column = owner.width();
  std::int64_t& width = piece.partial ? owner.partial_width : owner.whole_width;
  layout.own_column = width;
  width += piece.columns;

  const auto sum = std::find_if(sums_.begin(), sums_.end(), [&](const Sum& s) {
    return piece.partial && s.layout.piece.feature == piece.feature &&
           s.layout.piece.first_column == piece.first_column;
  });
  if (sum == sums_.end()) {
    layout.arrival_column = arrival_width_;
    arrival_width_ += piece.columns;
    layout.scaled_column = scaled_width_;
    if (piece.mean) scaled_width_ += piece.columns;
    if (piece.partial) sums_.push_back({layout, {rank}, {layout.own_column}});
  } else {
    layout.arrival_column = sum->layout.arrival_column;
    layout.scaled_column = sum->layout.scaled_column;
    sum->ranks.push_back(rank);
    sum->columns.push_back(layout.own_column);
  }
  owner.pieces.push_back(layout);
}

// Where a piece stands in the caller's rows, or in those before the permute.
PooledPlace OutputDist::PlaceOf(const Layout& layout, std::span<const PooledPlace> places) const {
  if (permute_ == OutputPermute::kCpu) return {layout.arrival_column, arrival_width_};
  PooledPlace place = places[Index(layout.piece.feature)];
  place.first += layout.piece.first_column;
  return place;
}

// From the rows before the permute to the caller's.
std::vector<ColumnMove> OutputDist::Moves(std::span<const PooledPlace> places) const {
  std::vector<ColumnMove> moves;
  const auto add = [&](const Layout& layout) {
    PooledPlace to = places[Index(layout.piece.feature)];
    to.first += layout.piece.first_column;
    moves.push_back({{layout.arrival_column, arrival_width_}, to, layout.piece.columns});
  };
  for (const Rank& rank : ranks_) {
    for (const Layout& layout : rank.pieces) {
      if (!layout.piece.partial) add(layout);
    }
  }
  for (const Sum& sum : sums_) add(sum.layout);
  return moves;
}

// first[r]: where rows of rank r's samples begin; first.back(): how many floats all take.
void OutputDist::FirstRows(std::span<const std::int64_t> samples, std::int64_t width,
                           std::vector<std::int64_t>& first) {
  first.assign(1, 0);
  for (const std::int64_t count : samples) first.push_back(first.back() + count * width);
}

void OutputDist::BeginForward(PooledView<float> out, std::span<const std::int64_t> samples) {
  HOTROW_CHECK(samples.size() == ranks());
  samples_.assign(samples.begin(), samples.end());
  out_ = out;
  target_ = out.data;
  if (permute_ == OutputPermute::kCpu) {
    arrival_.EnsureSize(samples_[self()] * arrival_width_);
    target_ = arrival_.data();
  }
  const Rank& mine = ranks_[self()];
  FirstRows(samples_, mine.partial_width, first_partial_);
  partial_.EnsureSize(first_partial_.back());
  if (shared()) {
    target_share_.emplace(comm_, std::span(&target_, 1));
  } else {
    FirstRows(samples_, mine.whole_width, first_whole_);
    send_.EnsureSize(first_whole_.back());
  }
  for (std::size_t r = 0; r < ranks(); ++r) {
    if (r != self()) forward_bytes_ += samples_[r] * mine.width() * kFloat;
  }
}

PooledRows<float> OutputDist::Place(std::size_t index, int destination) {
  const auto d = Index(destination);
  const Rank& mine = ranks_[self()];
  const Layout& layout = mine.pieces[index];
  if (layout.piece.partial) {
    return {partial_.data() + first_partial_[d] + layout.own_column, mine.partial_width};
  }
  if (!InPlace(d)) return {send_.data() + first_whole_[d] + layout.own_column, mine.whole_width};
  float* rows = d == self() ? target_ : target_share_->spans()[d].front();
  const PooledPlace place = PlaceOf(layout, out_.places);
  return {rows + place.first, place.stride};
}

// What other ranks have sent, into the rows of this rank's samples.
void OutputDist::ScatterWhole() {
  const std::int64_t samples = samples_[self()];
  Parts<float> parts(comm_);
  first_received_.assign(1, 0);
  for (std::size_t r = 0; r < ranks(); ++r) {
    first_received_.push_back(first_received_.back() + (r == self() ? 0 : samples * ranks_[r].whole_width));
  }
  received_.EnsureSize(first_received_.back());
  for (std::size_t r = 0; r < ranks(); ++r) {
    if (r == self()) continue;
    parts.Send(static_cast<int>(r), Part(send_, first_whole_[r], first_whole_[r + 1] - first_whole_[r]));
    parts.Receive(static_cast<int>(r),
                  Part(received_, first_received_[r], first_received_[r + 1] - first_received_[r]));
  }
  parts.Start(comm_).Wait();
  ForEachRow(samples, pool_, [&](std::int64_t row, int) {
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (r == self()) continue;
      const float* from = received_.data() + first_received_[r] + row * ranks_[r].whole_width;
      for (const Layout& layout : ranks_[r].pieces) {
        if (layout.piece.partial) continue;
        const PooledPlace place = PlaceOf(layout, out_.places);
        std::copy_n(from + layout.own_column, layout.piece.columns,
                    target_ + place.first + row * place.stride);
      }
    }
  });
}

void OutputDist::SumPartial(std::span<const float* const> scales) {
  const std::int64_t samples = samples_[self()];
  std::optional<Share<const float>> share;
  std::vector<const float*> rows(ranks());  // of this rank's samples, as each rank has pooled them
  if (shared()) {
    share.emplace(comm_, partial_.span());
    for (std::size_t r = 0; r < ranks(); ++r) {
      std::int64_t before = 0;
      for (std::size_t d = 0; d < self(); ++d) before += samples_[d];
      rows[r] = share->spans()[r].data() + before * ranks_[r].partial_width;
    }
  } else {
    Parts<float> parts(comm_);
    first_received_.assign(1, 0);
    for (std::size_t r = 0; r < ranks(); ++r)
      first_received_.push_back(first_received_.back() + samples * ranks_[r].partial_width);
    received_partial_.EnsureSize(first_received_.back());
    for (std::size_t r = 0; r < ranks(); ++r) {
      parts.Send(static_cast<int>(r),
                 Part(partial_, first_partial_[r], first_partial_[r + 1] - first_partial_[r]));
      parts.Receive(static_cast<int>(r),
                    Part(received_partial_, first_received_[r], first_received_[r + 1] - first_received_[r]));
      rows[r] = received_partial_.data() + first_received_[r];
    }
    parts.Start(comm_, Op::kReduceScatter).Wait();
  }
  std::int64_t widest = 0;
  for (const Sum& sum : sums_) widest = std::max(widest, sum.layout.piece.columns);
  sum_scratch_.resize(Index(pool_.size()));
  sum_sources_.resize(Index(pool_.size()));
  for (Buffer<float>& scratch : sum_scratch_) scratch.EnsureSize((std::bit_width(ranks()) + 1) * widest);
  ForEachRow(samples, pool_, [&](std::int64_t row, int thread) {
    std::vector<const float*>& sources = sum_sources_[Index(thread)];
    for (const Sum& sum : sums_) {
      sources.clear();
      for (std::size_t i = 0; i < sum.ranks.size(); ++i)
        sources.push_back(rows[sum.ranks[i]] + row * ranks_[sum.ranks[i]].partial_width + sum.columns[i]);
      const PooledPiece& piece = sum.layout.piece;
      const PooledPlace place = PlaceOf(sum.layout, out_.places);
      SumRow(sources, piece.columns, piece.mean ? scales[Index(piece.feature)] + row : nullptr,
             sum_scratch_[Index(thread)].data(), target_ + place.first + row * place.stride);
    }
  });
  if (share) share->Release();
}

void OutputDist::EndForward(std::span<const float* const> scales) {
  if (!comm_.shares_memory() && ranks() > 1) ScatterWhole();
  if (!sums_.empty()) SumPartial(scales);
  if (target_share_) {
    target_share_->Release();
    target_share_.reset();
  }
  if (permute_ == OutputPermute::kNone) return;
  forward_bytes_ +=
      pooled_permute_.Run(Moves(out_.places), samples_[self()], arrival_.data(), out_.data, pool_);
}

void OutputDist::ScaleGradients(std::span<const float* const> scales) {
  scaled_.EnsureSize(samples_[self()] * scaled_width_);
  ForEachRow(samples_[self()], pool_, [&](std::int64_t row, int) {
    for (const Sum& sum : sums_) {
      const PooledPiece& piece = sum.layout.piece;
      if (!piece.mean) continue;
      const float scale = scales[Index(piece.feature)][row];
      const PooledPlace place = PlaceOf(sum.layout, gradient_.places);
      const float* from = source_ + place.first + row * place.stride;
      float* to = scaled_.data() + row * scaled_width_ + sum.layout.scaled_column;
      for (std::int64_t c = 0; c < piece.columns; ++c) to[c] = from[c] * scale;
    }
  });
}

// To each rank the gradients of its pieces.
void OutputDist::SendGradients() {
  const std::int64_t samples = samples_[self()];
  std::vector<std::int64_t> first_sent(1, 0);
  for (std::size_t r = 0; r < ranks(); ++r)
    first_sent.push_back(first_sent.back() + (r == self() ? 0 : samples * ranks_[r].width()));
  send_.EnsureSize(first_sent.back());
  ForEachRow(samples, pool_, [&](std::int64_t row, int) {
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (r == self()) continue;
      float* to = send_.data() + first_sent[r] + row * ranks_[r].width();
      for (const Layout& layout : ranks_[r].pieces) {
        const PooledPlace place = PlaceOf(layout, gradient_.places);
        const float* from = layout.piece.mean ? scaled_.data() + row * scaled_width_ + layout.scaled_column
                                              : source_ + place.first + row * place.stride;
        std::copy_n(from, layout.piece.columns, to + layout.wire_column);
      }
    }
  });
  FirstRows(samples_, ranks_[self()].width(), first_received_);
  received_.EnsureSize(first_received_.back());
  Parts<float> parts(comm_);
  for (std::size_t r = 0; r < ranks(); ++r) {
    if (r == self()) continue;
    parts.Send(static_cast<int>(r), Part(send_, first_sent[r], first_sent[r + 1] - first_sent[r]));
    parts.Receive(static_cast<int>(r),
                  Part(received_, first_received_[r], first_received_[r + 1] - first_received_[r]));
  }
  parts.Start(comm_).Wait();
}

void OutputDist::BeginBackward(PooledView<const float> gradient, std::span<const std::int64_t> samples,
                               std::span<const float* const> scales) {
  HOTROW_CHECK(samples.size() == ranks());
  samples_.assign(samples.begin(), samples.end());
  gradient_ = gradient;
  source_ = gradient.data;
  if (permute_ == OutputPermute::kCpu) {
    arrival_.EnsureSize(samples_[self()] * arrival_width_);
    std::vector<ColumnMove> moves = Moves(gradient.places);
    for (ColumnMove& move : moves) std::swap(move.from, move.to);
    backward_bytes_ += pooled_permute_.Run(moves, samples_[self()], gradient.data, arrival_.data(), pool_);
    source_ = arrival_.data();
  }
  if (scaled_width_ > 0) ScaleGradients(scales);
  if (shared()) {
    source_share_.emplace(comm_, std::span(&source_, 1));
    if (scaled_width_ > 0) scaled_share_.emplace(comm_, scaled_.span());
  } else if (ranks() > 1) {
    SendGradients();
  }
  for (std::size_t r = 0; r < ranks(); ++r) {
    if (r != self()) backward_bytes_ += samples_[self()] * ranks_[r].width() * kFloat;
  }
}

PooledRows<const float> OutputDist::Gradient(std::size_t index, int source) const {
  const auto s = Index(source);
  const Rank& mine = ranks_[self()];
  const Layout& layout = mine.pieces[index];
  if (!InPlace(s)) return {received_.data() + first_received_[s] + layout.wire_column, mine.width()};
  if (layout.piece.mean) {
    const float* rows = s == self() ? scaled_.data() : scaled_share_->spans()[s].data();
    return {rows + layout.scaled_column, scaled_width_};
  }
  const float* rows = s == self() ? source_ : source_share_->spans()[s].front();
  const PooledPlace place = PlaceOf(layout, gradient_.places);
  return {rows + place.first, place.stride};
}

void OutputDist::EndBackward() {
  if (scaled_share_) {
    scaled_share_->Release();
    scaled_share_.reset();
  }
  if (source_share_) {
    source_share_->Release();
    source_share_.reset();
  }
}

void OutputDist::CloseShares() noexcept {
  scaled_share_.reset();
  source_share_.reset();
  target_share_.reset();
}

}  // namespace hotrow
