#include "hotrow/base/rng.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "hotrow/base/index.h"

namespace hotrow {

std::array<std::uint32_t, 4> RandomWords(std::uint64_t seed, RandomStream stream, std::uint64_t a,
                                         std::uint32_t b) {
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(a),
                                               static_cast<std::uint32_t>(a >> 32), b,
                                               static_cast<std::uint32_t>(stream)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

std::uint64_t MixSeed(std::uint64_t seed, std::uint64_t salt) {
  // splitmix64's finaliser over both words (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t x = seed + 0x9e3779b97f4a7c15ULL * (salt + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint32_t RandomSequence::NextWord() {
  if (left_ == 0) {
    words_ = RandomWords(seed_, stream_, counter_++, b_);
    left_ = 4;
  }
  return words_[Index(4 - left_--)];
}

double RandomSequence::NextNormal() {
  const double u = 1.0 - NextDouble();  // (0, 1]: the logarithm is finite
  const double v = NextDouble();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::int64_t RandomSequence::NextBelow(std::int64_t n) {
  const std::uint64_t hi = NextWord();
  const std::uint64_t bits = (hi << 32) | NextWord();
  return static_cast<std::int64_t>((static_cast<unsigned __int128>(bits) * static_cast<std::uint64_t>(n)) >>
                                   64);
}

}  // namespace hotrow
