#pragma once
// Random numbers as a pure function of where they are used. There is no state: the same (key, counter) gives
// the same words on any thread, rank or machine. So a model's initial values, and a synthetic batch, do not
// depend on how the program runs.
//
// Philox4x32-10: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11. From the Random123
// library.

#include <array>
#include <cstdint>

namespace hotrow {

/// What a random number is for. Streams with different purposes never share a counter under one seed.
enum class RandomStream : std::uint32_t {
  kEmbeddingInit = 1,
  kDenseInit = 2,
  kSyntheticIds = 3,
  kSyntheticDense = 4,
  kShuffle = 5,
  kPlanted = 6,
};

/// Four 32-bit words. key = seed (64 bits); counter = (a, b) of 64 and 32 bits and the stream in the last
/// word.
std::array<std::uint32_t, 4> RandomWords(std::uint64_t seed, RandomStream stream, std::uint64_t a,
                                         std::uint32_t b);

/// A word as a float in [0, 1): its upper 24 bits, exact.
constexpr float UnitFloat(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24F; }

/// Two words as a double in [0, 1): 53 bits.
constexpr double UnitDouble(std::uint32_t hi, std::uint32_t lo) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(hi) << 32) | lo;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// A well mixed 64-bit value from two: derives a seed for a sub-stream (a table, an epoch).
std::uint64_t MixSeed(std::uint64_t seed, std::uint64_t salt);

/// A sequential view of one (seed, stream, b) for code that just wants the next number: counters 0, 1, 2, …
class RandomSequence {
 public:
  RandomSequence(std::uint64_t seed, RandomStream stream, std::uint32_t b = 0)
      : seed_(seed), stream_(stream), b_(b) {}
  std::uint32_t NextWord();
  double NextDouble() {
    const std::uint32_t hi = NextWord();
    return UnitDouble(hi, NextWord());
  }
  /// Standard normal (Box-Muller).
  double NextNormal();
  /// Uniform in [0, n), n >= 1, without modulo bias worth measuring (64-bit multiply-shift).
  std::int64_t NextBelow(std::int64_t n);

 private:
  std::uint64_t seed_;
  RandomStream stream_;
  std::uint32_t b_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int left_ = 0;
};

}  // namespace hotrow
