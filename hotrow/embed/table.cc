#include "hotrow/embed/table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/index.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr double kAutoEagerShare = 0.85;

TableShard Completed(const EmbeddingTableConfig& config, TableShard shard) {
  if (shard.rows == 0) shard.rows = config.num_embeddings - shard.first_row;
  if (shard.columns == 0) shard.columns = config.embedding_dim - shard.first_column;
  HOTROW_CHECK(shard.first_row >= 0 && shard.rows >= 1 &&
               shard.first_row + shard.rows <= config.num_embeddings);
  HOTROW_CHECK(shard.first_column >= 0 && shard.first_column % 4 == 0 && shard.columns >= 1 &&
               shard.first_column + shard.columns <= config.embedding_dim);
  return shard;
}

void CopyFloats(float* to, const float* from, std::int64_t count) {
  if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));  // SGD has no state
}

}  // namespace

EmbeddingTable::EmbeddingTable(EmbeddingTableConfig config, const TableShard& shard, StorageKind storage,
                               std::int64_t table_index, std::uint64_t seed, ThreadPool& pool)
    : config_(std::move(config)),
      shard_(Completed(config_, shard)),
      state_width_(StateWidth(config_.optimizer.kind, shard_.columns)),
      storage_(config_.name, storage, shard_.rows, MakeRowLayout(shard_.columns, config_.optimizer.kind)),
      view_(storage_.view()),
      initial_(seed, table_index, config_) {
  if (storage == StorageKind::kLazy) return;
  const float state = InitialState(config_.optimizer);
  // 2 MiB of rows a task: a huge page is then faulted in by one thread. State of zeros is the mapping's; what
  // lies apart is written all the same, for memory that was never touched counts as available.
  constexpr std::int64_t kTaskFloats = (std::int64_t{2} << 20) / kFloat;
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, kTaskFloats / view_.layout.stride);
  pool.Run(CeilDiv(rows(), rows_a_task), [&](std::int64_t task, int) {
    const std::int64_t first = task * rows_a_task;
    const std::int64_t count = std::min(rows_a_task, rows() - first);
    initial_.Fill(shard_.first_row + first, count, shard_.first_column, dim(), view_.Row(first),
                  view_.layout.stride);
    if (state == 0.0F || view_.layout.apart > 0) return;
    for (std::int64_t row = first; row < first + count; ++row)
      std::fill_n(view_.State(row), state_width_, state);
  });
  const std::span<float> states = storage_.states_apart();
  pool.Run(CeilDiv(std::ssize(states), kTaskFloats), [&](std::int64_t task, int) {
    const auto first = Index(task * kTaskFloats);
    const auto part = states.subspan(first, std::min<std::size_t>(kTaskFloats, states.size() - first));
    std::fill(part.begin(), part.end(), state);
  });
}

void EmbeddingTable::CheckRange(std::int64_t first_row, std::int64_t count) const {
  HOTROW_CHECK(first_row >= 0 && count >= 0 && first_row <= rows() - count);
}

void EmbeddingTable::ReadRows(std::int64_t first_row, std::int64_t count, float* out) const {
  CheckRange(first_row, count);
  for (std::int64_t i = 0; i < count; ++i) {
    if (const float* row = view_.Find(first_row + i); row != nullptr) {
      CopyFloats(out + i * dim(), row, dim());
    } else {
      InitialRow(first_row + i, out + i * dim());
    }
  }
}

void EmbeddingTable::ReadState(std::int64_t first_row, std::int64_t count, float* out) const {
  CheckRange(first_row, count);
  for (std::int64_t i = 0; i < count; ++i) {
    float* state = out + i * state_width_;
    if (const std::int64_t slot = view_.Slot(first_row + i); slot >= 0) {
      CopyFloats(state, view_.State(slot), state_width_);
    } else {
      std::fill_n(state, state_width_, InitialState(config_.optimizer));
    }
  }
}

std::int64_t EmbeddingTable::ResidentSlot(std::int64_t row) {
  if (view_.Slot(row) < 0) MakeResident({&row, 1});
  return view_.Slot(row);
}

void EmbeddingTable::WriteRows(std::int64_t first_row, std::int64_t count, const float* in) {
  CheckRange(first_row, count);
  for (std::int64_t i = 0; i < count; ++i) {
    CopyFloats(view_.Row(ResidentSlot(first_row + i)), in + i * dim(), dim());
  }
}

void EmbeddingTable::WriteState(std::int64_t first_row, std::int64_t count, const float* in) {
  CheckRange(first_row, count);
  for (std::int64_t i = 0; i < count; ++i) {
    CopyFloats(view_.State(ResidentSlot(first_row + i)), in + i * state_width_, state_width_);
  }
}

void EmbeddingTable::MakeResident(std::span<const std::int64_t> rows) {
  if (storage_.kind() == StorageKind::kEager) return;
  const auto absent =
      std::count_if(rows.begin(), rows.end(), [&](std::int64_t row) { return view_.Find(row) == nullptr; });
  if (absent == 0) return;
  std::uint32_t slot = storage_.Claim(absent);
  const float state = InitialState(config_.optimizer);  // fresh slots are zeros
  for (const std::int64_t row : rows) {
    if (view_.Find(row) != nullptr) continue;
    InitialRow(row, view_.Row(slot));
    if (state != 0.0F) std::fill_n(view_.State(slot), state_width_, state);
    storage_.Bind(row, slot++);
  }
}

std::int64_t EmbeddingTable::LogicalBytes() const { return rows() * (dim() + state_width_) * kFloat; }

std::int64_t EagerBytes(const std::vector<EmbeddingTableConfig>& tables) {
  std::int64_t bytes = 0;
  for (const EmbeddingTableConfig& table : tables) {
    const RowLayout layout = MakeRowLayout(table.embedding_dim, table.optimizer.kind);
    bytes = CheckedAdd(bytes, CheckedMul(table.num_embeddings, layout.bytes()));
  }
  return bytes;
}

StorageKind ParseTableStorage(const std::string& text, std::int64_t eager_bytes) {
  if (text == "eager") return StorageKind::kEager;
  if (text == "lazy") return StorageKind::kLazy;
  if (text != "auto") Fail("unknown table storage '{}', must be one of: auto, eager, lazy", text);
  // Either kind needs the same address space.
  const double room = kAutoEagerShare * static_cast<double>(AvailableForReserved());
  return static_cast<double>(eager_bytes) <= room ? StorageKind::kEager : StorageKind::kLazy;
}

std::string ToString(StorageKind kind) { return kind == StorageKind::kEager ? "eager" : "lazy"; }

}  // namespace hotrow
