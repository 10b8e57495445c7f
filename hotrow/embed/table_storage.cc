#include "hotrow/embed/table_storage.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/machine/system.h"

namespace hotrow {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kLine = 16;  // floats
// Small, so that what 26 tables have committed but not touched yet stays below the reserve, with up to 2 MiB
// more for rows and for states: huge pages.
constexpr std::int64_t kGrowth = std::int64_t{12} << 20;

}  // namespace

TableStorage::TableStorage(std::string table_name, StorageKind kind, std::int64_t rows,
                           const RowLayout& layout)
    : table_name_(std::move(table_name)),
      kind_(kind),
      rows_(rows),
      layout_(layout),
      first_state_(CheckedAdd(CheckedMul(rows, layout.stride), kLine - 1) / kLine * kLine) {
  const std::int64_t floats = CheckedAdd(first_state_, CheckedMul(rows, layout.apart));
  const std::int64_t bytes = CheckedMul(floats, kFloat);
  if (kind == StorageKind::kLazy) {
    slots_ = MappedMemory::Reserve(bytes);
    index_ = MappedMemory(CheckedMul(rows, sizeof(std::uint32_t)));
    return;
  }
  if (const std::int64_t available = AvailableMemory(); bytes > available) {
    Fail(
        "table '{}' needs {:.2f} GiB for its {} rows and their optimizer state; {:.2f} GiB are "
        "available (lazy tables keep only the rows that were trained)",
        table_name_, GiB(bytes), rows, GiB(available));
  }
  slots_ = MappedMemory(bytes);
  claimed_ = rows;
}

RowsView TableStorage::view() const {
  auto* const rows = static_cast<float*>(slots_.data());
  const bool apart = layout_.apart > 0;
  return {.layout = layout_,
          .rows = rows,
          .states = rows + (apart ? first_state_ : layout_.dim),
          .state_stride = apart ? layout_.apart : layout_.stride,
          .slots = static_cast<const std::uint32_t*>(index_.data())};
}

std::uint32_t TableStorage::Claim(std::int64_t count) {
  HOTROW_CHECK(kind_ == StorageKind::kLazy);
  std::int64_t first = claimed_.load(std::memory_order_relaxed);
  do {  // memory first: slots taken before it would be lost where there is none
    const std::int64_t end = first + count;
    HOTROW_CHECK(end <= rows_);
    if (end >= std::numeric_limits<std::uint32_t>::max()) {
      Fail("table '{}': a lazy table holds at most 2^32 - 2 trained rows; use eager tables", table_name_);
    }
    if (end > committed_.load(std::memory_order_acquire)) Grow(end);
  } while (!claimed_.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
  return static_cast<std::uint32_t>(first);
}

void TableStorage::Grow(std::int64_t slots) {
  const std::lock_guard lock(grow_);
  const std::int64_t committed = committed_.load(std::memory_order_relaxed);
  if (slots <= committed) return;
  const std::int64_t more = std::max<std::int64_t>(1, kGrowth / layout_.bytes());
  const std::int64_t end = std::min(RoundUp(slots, more), rows_);
  const std::int64_t bytes = (end - committed) * layout_.bytes();
  if (const std::int64_t available = AvailableForReserved(); bytes > available - kMemoryReserve) {
    Fail(
        "out of memory: table '{}' has {} trained rows in {:.2f} GiB and needs {:.2f} GiB more; {:.2f} "
        "GiB are available, of which {:.2f} GiB are kept free",
        table_name_, claimed_.load(std::memory_order_relaxed), GiB(committed * layout_.bytes()), GiB(bytes),
        GiB(available), GiB(kMemoryReserve));
  }
  const auto commit = [&](std::int64_t first, std::int64_t floats) {
    slots_.Commit((first + committed * floats) * kFloat, (first + end * floats) * kFloat);
  };
  commit(0, layout_.stride);
  if (layout_.apart > 0) commit(first_state_, layout_.apart);
  committed_.store(end, std::memory_order_release);
}

void TableStorage::Bind(std::int64_t row, std::uint32_t slot) {
  static_cast<std::uint32_t*>(index_.data())[row] = slot + 1;
}

std::int64_t TableStorage::resident_rows() const { return claimed_.load(std::memory_order_relaxed); }

std::int64_t TableStorage::resident_bytes() const {
  return resident_rows() * layout_.bytes() + index_.bytes();
}

}  // namespace hotrow
