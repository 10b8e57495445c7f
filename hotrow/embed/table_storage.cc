#include "hotrow/embed/table_storage.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "hotrow/base/error.h"
#include "hotrow/base/size.h"
#include "hotrow/base/system.h"

namespace hotrow {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
// Small, so that what 26 tables have committed but not touched yet stays below the reserve.
constexpr std::int64_t kGrowth = std::int64_t{16} << 20;

}  // namespace

TableStorage::TableStorage(std::string table_name, StorageKind kind, std::int64_t rows, std::int64_t stride)
    : table_name_(std::move(table_name)), kind_(kind), rows_(rows), stride_(stride) {
  const std::int64_t bytes = CheckedMul(CheckedMul(rows, stride), kFloat);
  if (kind == StorageKind::kLazy) {
    slots_ = MappedMemory::Reserve(bytes);
    index_ = MappedMemory(CheckedMul(rows, sizeof(std::uint32_t)));
    return;
  }
  if (const std::int64_t available = AvailableMemory(); bytes > available) {
    Fail(
        "table '{}' needs {:.2f} GiB for its {} rows and their optimizer state; {:.2f} GiB are available "
        "(lazy tables keep only the rows that were trained)",
        table_name_, GiB(bytes), rows, GiB(available));
  }
  slots_ = MappedMemory(bytes);
  claimed_ = rows;
}

RowsView TableStorage::view() const {
  return {static_cast<float*>(slots_.data()), stride_, static_cast<const std::uint32_t*>(index_.data())};
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
    const std::int64_t bytes = end * stride_ * kFloat;
    if (bytes > committed_.load(std::memory_order_acquire)) Grow(bytes);
  } while (!claimed_.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
  return static_cast<std::uint32_t>(first);
}

void TableStorage::Grow(std::int64_t bytes) {
  const std::lock_guard lock(grow_);
  const std::int64_t committed = committed_.load(std::memory_order_relaxed);
  if (bytes <= committed) return;
  const std::int64_t end = std::min(RoundUp(bytes, kGrowth), slots_.bytes());
  if (const std::int64_t available = AvailableMemory(); end - committed > available - kMemoryReserve) {
    Fail(
        "out of memory: table '{}' has {} trained rows in {:.2f} GiB and needs {:.2f} GiB more; {:.2f} GiB "
        "are "
        "available, of which {:.2f} GiB are kept free",
        table_name_, claimed_.load(std::memory_order_relaxed), GiB(committed), GiB(end - committed),
        GiB(available), GiB(kMemoryReserve));
  }
  slots_.Commit(committed, end);
  committed_.store(end, std::memory_order_release);
}

void TableStorage::Bind(std::int64_t row, std::uint32_t slot) {
  static_cast<std::uint32_t*>(index_.data())[row] = slot + 1;
}

std::int64_t TableStorage::resident_rows() const { return claimed_.load(std::memory_order_relaxed); }

std::int64_t TableStorage::resident_bytes() const {
  return resident_rows() * stride_ * kFloat + index_.bytes();
}

}  // namespace hotrow
