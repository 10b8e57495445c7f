#pragma once
// One embedding table, or a rank's part of one: rows and their optimizer state, initial values, reading and
// writing.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hotrow/embed/initial_values.h"
#include "hotrow/embed/row_layout.h"
#include "hotrow/embed/rows_view.h"
#include "hotrow/embed/table_config.h"
#include "hotrow/embed/table_storage.h"
#include "hotrow/machine/thread_pool.h"
#include "hotrow/optim/optimizer_config.h"

namespace hotrow {

/// The part of a table that lives here. Columns start at multiples of 4; rows or columns of 0 mean all from
/// the first.
struct TableShard {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
};

/// Rows here are the shard's: 0 is its first. Initial values and hashes are those of the whole table's
/// places. Not thread-safe but for const members.
class EmbeddingTable {
 public:
  /// `table_index` and `seed` key the initial values. Eager tables are initialised on the pool's threads;
  /// lazy ones are ready at once. Throws Error when an eager table does not fit in memory.
  EmbeddingTable(EmbeddingTableConfig config, const TableShard& shard, StorageKind storage,
                 std::int64_t table_index, std::uint64_t seed, ThreadPool& pool);

  const EmbeddingTableConfig& config() const { return config_; }
  const std::string& name() const { return config_.name; }
  const TableShard& shard() const { return shard_; }
  std::int64_t rows() const { return shard_.rows; }
  std::int64_t dim() const { return shard_.columns; }  ///< columns of this shard
  const OptimizerConfig& optimizer() const { return config_.optimizer; }
  std::int64_t state_width() const { return state_width_; }  ///< floats of state a row
  StorageKind storage_kind() const { return storage_.kind(); }

  /// Weights [count, dim], or state [count, state_width], of rows [first_row, first_row + count). Rows never
  /// trained are generated. Adagrad's state is h; Adam's m, then v; row-wise Adagrad's one h. Thread-safe.
  void ReadRows(std::int64_t first_row, std::int64_t count, float* out) const;
  void ReadState(std::int64_t first_row, std::int64_t count, float* out) const;
  /// Sets weights or state; makes the rows resident. Different rows may be written by different threads at a
  /// time.
  void WriteRows(std::int64_t first_row, std::int64_t count, const float* in);
  void WriteState(std::int64_t first_row, std::int64_t count, const float* in);

  /// Initial weights of a row, [dim].
  void InitialRow(std::int64_t row, float* out) const {
    initial_.Fill(shard_.first_row + row, 1, shard_.first_column, dim(), out, dim());
  }
  /// Gives every listed row that has none a slot with initial weights and state: a lazy table's way to
  /// train a row. Rows must be distinct, those of threads that call at once among them: one listed twice
  /// takes a second slot that stays empty. Throws Error when memory runs out.
  void MakeResident(std::span<const std::int64_t> rows);

  /// For kernels.
  RowsView view() const { return view_; }

  std::int64_t ResidentBytes() const { return storage_.resident_bytes(); }
  /// Bytes of weights and state if every row were resident, padding not counted.
  std::int64_t LogicalBytes() const;

 private:
  std::int64_t ResidentSlot(std::int64_t row);
  void CheckRange(std::int64_t first_row, std::int64_t count) const;

  EmbeddingTableConfig config_;
  TableShard shard_;
  std::int64_t state_width_;
  TableStorage storage_;
  RowsView view_;
  InitialValues initial_;
};

/// Bytes that the tables take when eager.
std::int64_t EagerBytes(const std::vector<EmbeddingTableConfig>& tables);

/// "eager", "lazy", or "auto": eager when `eager_bytes` is at most 85 % of the memory available. Throws Error
/// listing them.
StorageKind ParseTableStorage(const std::string& text, std::int64_t eager_bytes);
std::string ToString(StorageKind kind);

}  // namespace hotrow
