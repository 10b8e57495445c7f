#pragma once
// The phases of a training step, by the names that the bench prints: how long each took, and what it moved.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotrow {

enum class Phase {
  kInputDist,
  kRecat,
  kLookup,
  kOutputDist,
  kDense,
  kGradDist,
  kSparseBackward,
  kDenseAllReduce,
  kDenseOptimizer,
};
inline constexpr int kPhases = 9;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "input_dist", "recat",           "lookup",           "output_dist",    "dense",
    "grad_dist",  "sparse_backward", "dense_all_reduce", "dense_optimizer"};

/// Seconds since an arbitrary, steady origin.
inline double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Wall seconds a phase, summed over steps since the last Reset. One writer, a rank's own thread: at any
/// moment it is in one phase at most, so the phases' sum is a step's time but for what is in none. A phase
/// that runs inside another is taken out of that one's time.
class PhaseTimes {
 public:
  void Reset() { *this = {}; }
  void Add(Phase phase, double seconds) { seconds_[static_cast<std::size_t>(phase)] += seconds; }
  /// So many of the phase's seconds passed while other threads of the rank were at work on another phase.
  void AddOverlapped(Phase phase, double seconds) { overlapped_[static_cast<std::size_t>(phase)] += seconds; }
  void Add(const PhaseTimes& other) {
    for (std::size_t p = 0; p < seconds_.size(); ++p) {
      seconds_[p] += other.seconds_[p];
      overlapped_[p] += other.overlapped_[p];
    }
  }
  double seconds(Phase phase) const { return seconds_[static_cast<std::size_t>(phase)]; }
  double overlapped(Phase phase) const { return overlapped_[static_cast<std::size_t>(phase)]; }

 private:
  std::array<double, kPhases> seconds_{};
  std::array<double, kPhases> overlapped_{};
};

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

/// Adds the time from construction to destruction to a phase.
class PhaseSpan {
 public:
  PhaseSpan(PhaseTimes& times, Phase phase) : times_(times), phase_(phase), begin_(NowSeconds()) {}
  ~PhaseSpan() { times_.Add(phase_, NowSeconds() - begin_); }
  PhaseSpan(const PhaseSpan&) = delete;
  PhaseSpan& operator=(const PhaseSpan&) = delete;

 private:
  PhaseTimes& times_;
  Phase phase_;
  double begin_;
};

}  // namespace hotrow
