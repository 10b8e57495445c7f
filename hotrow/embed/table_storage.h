#pragma once
// The memory behind one embedding table: eager (every row from the start) or lazy (rows get a slot when first
// trained).

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "hotrow/base/index.h"
#include "hotrow/embed/rows_view.h"
#include "hotrow/machine/buffer.h"

namespace hotrow {

enum class StorageKind { kEager, kLazy };

/// Slots for the weights and optimizer state of `rows` rows. Contents are the owner's business: fresh slots
/// are zeros.
class TableStorage {
 public:
  /// Eager: maps everything (Error when the machine has less). Lazy: reserves address space only.
  TableStorage(std::string table_name, StorageKind kind, std::int64_t rows, const RowLayout& layout);

  StorageKind kind() const { return kind_; }
  RowsView view() const;
  /// The states that lie apart from their rows, of all rows; empty where none do.
  std::span<float> states_apart() const {
    return {static_cast<float*>(slots_.data()) + first_state_, Index(rows_ * layout_.apart)};
  }

  /// Lazy only: takes `count` consecutive zeroed slots and returns the first. Thread-safe. Throws Error
  /// naming the table, what it needs and what there is when memory would fall below kMemoryReserve
  /// (machine/system.h); no slot is taken then.
  std::uint32_t Claim(std::int64_t count);
  /// Lazy only: binds a claimed slot to a row without one. A row has one writer at a time.
  void Bind(std::int64_t row, std::uint32_t slot);

  std::int64_t resident_rows() const;
  /// Rows that have memory times their size, plus a lazy table's index.
  std::int64_t resident_bytes() const;

 private:
  void Grow(std::int64_t slots);

  std::string table_name_;
  StorageKind kind_;
  std::int64_t rows_;
  RowLayout layout_;
  std::int64_t first_state_;  // floats of slots_ before the states that lie apart
  MappedMemory slots_;
  MappedMemory index_;  // lazy: uint32 a row, slot + 1; zero pages cost nothing until written
  std::atomic<std::int64_t> claimed_{0};    // slots
  std::atomic<std::int64_t> committed_{0};  // slots that are usable
  std::mutex grow_;
};

}  // namespace hotrow
