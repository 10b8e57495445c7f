#pragma once
// Output dist: pooled rows go from the ranks that hold the rows' columns to the ranks that have the samples,
// and gradients the other way.
//
// A rank pools pieces: some columns of a feature, for every sample of every rank. The pooled row itself is
// one piece or several side by side; or, where rows are split over ranks, the sum of partial pieces. Thread
// ranks write whole pieces straight into the other ranks' memory and read gradients from it. MPI ranks send
// [destination][sample][columns of the rank's pieces] and scatter what they receive. Partial pieces are
// summed by the rank that has the samples, in the tree of base/tree_sum.h with the ranks that hold the rows
// as leaves, then divided where the pooling is MEAN.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hotrow/base/index.h"
#include "hotrow/comm/communicator.h"
#include "hotrow/comm/share.h"
#include "hotrow/dist/options.h"
#include "hotrow/dist/pooled_permute.h"
#include "hotrow/embed/pooled_view.h"
#include "hotrow/machine/buffer.h"
#include "hotrow/machine/thread_pool.h"

namespace hotrow {

/// Columns [first_column, first_column + columns) of a feature's pooled row, as one rank has them.
struct PooledPiece {
  std::int64_t feature = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
  bool partial = false;  ///< to be summed over all ranks that have these columns
  bool mean = false;     ///< partial, and then times the scale of feature and sample
};

/// Rows of a piece: sample s of a batch at data[s * stride].
template <typename T>
struct PooledRows {
  T* data = nullptr;
  std::int64_t stride = 0;  ///< floats
};

class OutputDist {
 public:
  /// pieces_of_rank[r]: what rank r pools, the same list on every rank. Features that are no rank's piece are
  /// left alone.
  OutputDist(std::vector<std::vector<PooledPiece>> pieces_of_rank, OutputPermute permute, Communicator& comm,
             ThreadPool& pool);

  // Forward, each step by all ranks. `out`, for this rank's samples, has the same places on all ranks;
  // samples[r] is the size of rank r's batch; scales[feature], [own samples], where a piece of the
  // feature is `mean`.
  void BeginForward(PooledView<float> out, std::span<const std::int64_t> samples);
  /// Where this rank's piece `index` of rank `destination`'s samples is to be written before EndForward.
  PooledRows<float> Place(std::size_t index, int destination);
  void EndForward(std::span<const float* const> scales);

  // Backward, likewise; gradients may be read until EndBackward.
  void BeginBackward(PooledView<const float> gradient, std::span<const std::int64_t> samples,
                     std::span<const float* const> scales);
  /// Gradients of this rank's piece `index`, of rank `source`'s samples; scaled where the piece is `mean`.
  PooledRows<const float> Gradient(std::size_t index, int source) const;
  void EndBackward();

  /// Closes what this rank shares with others, without waiting for them: for a step that failed, while the
  /// exception passes. Nothing is open after EndForward and EndBackward.
  void CloseShares() noexcept;

  /// Bytes that went to other ranks, forward and backward, and that the permute copied, so far.
  std::int64_t forward_bytes() const { return forward_bytes_; }
  std::int64_t backward_bytes() const { return backward_bytes_; }

 private:
  /// Where a piece stands in what its rank sends and in the rows of the samples' ranks.
  struct Layout {
    PooledPiece piece;
    std::int64_t own_column = 0;      ///< among its rank's whole pieces, or among its partial ones
    std::int64_t wire_column = 0;     ///< among all of its rank's pieces
    std::int64_t arrival_column = 0;  ///< in rows before the output permute; one for all partial pieces
    std::int64_t scaled_column = 0;   ///< of a mean piece, among all such
  };
  struct Rank {
    std::vector<Layout> pieces;
    std::int64_t whole_width = 0;
    std::int64_t partial_width = 0;
    std::int64_t width() const { return whole_width + partial_width; }
  };
  /// Partial pieces of the same columns, in the order of their ranks.
  struct Sum {
    Layout layout;
    std::vector<std::size_t> ranks;
    std::vector<std::int64_t> columns;  ///< own_column on each
  };

  void AddPiece(std::size_t rank, const PooledPiece& piece);
  std::size_t self() const { return Index(comm_.rank()); }
  std::size_t ranks() const { return ranks_.size(); }
  bool InPlace(std::size_t rank) const { return rank == self() || comm_.shares_memory(); }
  bool shared() const { return comm_.shares_memory() && ranks() > 1; }
  PooledPlace PlaceOf(const Layout& layout, std::span<const PooledPlace> places) const;
  void FirstRows(std::span<const std::int64_t> samples, std::int64_t width, std::vector<std::int64_t>& first);
  void ScatterWhole();
  void SumPartial(std::span<const float* const> scales);
  void ScaleGradients(std::span<const float* const> scales);
  void SendGradients();
  std::vector<ColumnMove> Moves(std::span<const PooledPlace> places) const;

  OutputPermute permute_;
  Communicator& comm_;
  ThreadPool& pool_;
  std::vector<Rank> ranks_;
  std::vector<Sum> sums_;
  std::int64_t arrival_width_ = 0;
  std::int64_t scaled_width_ = 0;
  std::int64_t forward_bytes_ = 0;
  std::int64_t backward_bytes_ = 0;

  // The step's.
  std::vector<std::int64_t> samples_;
  PooledView<float> out_;  // the caller's
  PooledView<const float> gradient_;
  float* target_ = nullptr;  // where pieces go on this rank: out_, or rows before the permute
  const float* source_ = nullptr;
  std::vector<std::int64_t> first_whole_;    // float of each destination in send_
  std::vector<std::int64_t> first_partial_;  // and in partial_
  std::vector<std::int64_t> first_received_;

  Buffer<float> send_;
  Buffer<float> received_;
  Buffer<float> partial_;
  Buffer<float> received_partial_;
  Buffer<float> scaled_;
  Buffer<float> arrival_;
  PooledPermute pooled_permute_;
  std::vector<Buffer<float>> sum_scratch_;              // per thread, a row for each level of the tree
  std::vector<std::vector<const float*>> sum_sources_;  // per thread

  std::optional<Share<float* const>> target_share_;  // of where the rows begin
  std::optional<Share<const float* const>> source_share_;
  std::optional<Share<const float>> scaled_share_;
};

}  // namespace hotrow
