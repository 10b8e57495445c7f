#pragma once
// What a rank's phases moved: the "bytes" of the bench.

#include <array>
#include <cstddef>
#include <cstdint>

#include "hotrow/trace/phase.h"

namespace hotrow {

/// Bytes a phase sent to other ranks (or wrote into their memory, or read from it), or copied, summed over
/// steps since the last Reset. One writer.
class PhaseBytes {
 public:
  void Reset() { bytes_.fill(0); }
  void Add(Phase phase, std::int64_t bytes) { bytes_[static_cast<std::size_t>(phase)] += bytes; }
  void Add(const PhaseBytes& other) {
    for (std::size_t p = 0; p < bytes_.size(); ++p) bytes_[p] += other.bytes_[p];
  }
  std::int64_t bytes(Phase phase) const { return bytes_[static_cast<std::size_t>(phase)]; }

 private:
  std::array<std::int64_t, kPhases> bytes_{};
};

}  // namespace hotrow
