#pragma once
// What every transport must do, as functions that all ranks of a world run together. Thread ranks run them
// under GoogleTest, MPI ranks in a program of their own (mpi_ranks.cc): a failed requirement throws.

#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotrow/comm/communicator.h"

namespace hotrow {

struct ConformanceCase {
  std::string_view name;
  void (*run)(Communicator& comm);
};

std::vector<ConformanceCase> ExchangeCases();
std::vector<ConformanceCase> SumCases();
std::vector<ConformanceCase> AsyncCases();

inline std::vector<ConformanceCase> ConformanceCases() {
  std::vector<ConformanceCase> all = ExchangeCases();
  for (const auto& cases : {SumCases(), AsyncCases()}) all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

/// How often a case repeats: less in a large world, where ranks outnumber the cores.
inline int Rounds(const Communicator& comm, int rounds) {
  return comm.size() > 8 ? (rounds + 3) / 4 : rounds;
}

template <typename... Args>
void Require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

/// A sequence that every rank can make again for any rank: what rank `a` has for rank `b` in round `round`.
/// (SplitMix64: the ranks of a large world check a lot of data.)
class Draw {
 public:
  Draw(int round, int a, int b = 0) {
    for (int key : {round, a, b}) state_ = (*this)() ^ static_cast<std::uint64_t>(key);
  }
  std::uint64_t operator()() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_ = 0;
};

template <typename T>
std::vector<T> DrawValues(int round, int a, int b, std::int64_t count) {
  Draw random(round, a, b);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

template <typename T>
bool SameBits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// What `action` throws, as text; empty if nothing.
template <typename E, typename Action>
std::string Thrown(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace hotrow
