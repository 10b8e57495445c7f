#include <bit>
#include <cmath>

#include "conformance.h"
#include "hotrow/comm/reduce.h"
#include "tests/comm/plain_exchanges.h"

namespace hotrow {
namespace {

// Values whose sum depends on the order: magnitudes from 2^-20 to 2^20, both signs, some zeros of either
// sign.
template <typename T>
std::vector<T> Leaf(int round, int rank, std::int64_t count) {
  Draw random(round, rank, 77);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    const std::uint64_t bits = random();
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(bits);
    } else {
      const double magnitude = std::ldexp(1.0 + static_cast<double>(bits % 1000003) / 1000003.0,
                                          static_cast<int>(bits >> 40) % 41 - 20);
      value = static_cast<T>(bits % 17 == 0 ? 0.0 : magnitude) *
              ((bits >> 33) % 2 == 0 ? T{1} : static_cast<T>(-1));
    }
  }
  return values;
}

template <typename T>
T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

// The definition: left half + right half of a power of two of ranks, absent ones left out.
template <typename T>
bool Tree(const std::vector<std::vector<T>>& leaves, const std::vector<bool>& present, std::size_t first,
          std::size_t size, std::size_t element, T* sum) {
  if (size == 1) {
    if (first >= leaves.size() || !present[first]) return false;
    *sum = leaves[first][element];
    return true;
  }
  T right{};
  const bool has_left = Tree(leaves, present, first, size / 2, element, sum);
  const bool has_right = Tree(leaves, present, first + size / 2, size / 2, element, &right);
  if (has_right) *sum = has_left ? Plus(*sum, right) : right;
  return has_left || has_right;
}

template <typename T>
std::vector<T> Expected(int round, const std::vector<bool>& present, std::int64_t count) {
  std::vector<std::vector<T>> leaves;
  for (std::size_t r = 0; r < present.size(); ++r)
    leaves.push_back(Leaf<T>(round, static_cast<int>(r), count));
  std::vector<T> sum(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < sum.size(); ++i) {
    Tree(leaves, present, 0, std::bit_ceil(present.size()), i, &sum[i]);
  }
  return sum;
}

// Sizes: none, fewer than ranks, up to the small path's limit, beyond it, not divisible by anything.
constexpr std::int64_t kSizes[] = {0, 1, 3, 31, 512, 1024, 1025, 1531, 5003};

// What of a sum may be lost when a rank is absent: at least one rank stays.
std::vector<bool> Present(int round, int ranks, bool some_absent) {
  std::vector<bool> present(static_cast<std::size_t>(ranks), true);
  if (!some_absent) return present;
  Draw random(round, 555);
  for (std::size_t r = 0; r < present.size(); ++r) present[r] = random() % 3 != 0;
  present[random() % present.size()] = true;
  return present;
}

template <typename T>
void Sums(Communicator& comm) {
  int round = 0;
  PendingSum<T> reused;
  for (std::int64_t count : kSizes) {
    for (bool some_absent : {false, true}) {
      const auto present = Present(++round, comm.size(), some_absent);
      const bool here = present[static_cast<std::size_t>(comm.rank())];
      const auto expected = Expected<T>(round, present, count);
      const auto mine = Leaf<T>(round, comm.rank(), count);

      auto data = mine;
      AllReduceSum<T>(comm, data, here);
      Require(SameBits<T>(data, expected), "all-reduce of {}, {} absent", count, some_absent);

      const Slice slice = ReduceSlice(comm, count, comm.rank());
      std::vector<T> part(static_cast<std::size_t>(slice.size()));
      reused.StartReduceScatter(comm, mine, part, here);
      reused.Wait();
      const auto expected_part = std::span(expected).subspan(static_cast<std::size_t>(slice.begin),
                                                             static_cast<std::size_t>(slice.size()));
      Require(SameBits<T>(part, expected_part), "reduce-scatter of {}, {} absent", count, some_absent);

      std::vector<T> whole(static_cast<std::size_t>(count));
      std::copy(part.begin(), part.end(), whole.begin() + slice.begin);
      StartAllGatherSlices<T>(comm, whole).Wait();
      Require(SameBits<T>(whole, expected), "slices of {} gathered", count);
    }
  }
}

void ReduceScatterInPlace(Communicator& comm) {
  const std::int64_t count = 4001;
  const auto expected = Expected<float>(1, Present(1, comm.size(), false), count);
  auto data = Leaf<float>(1, comm.rank(), count);
  const Slice slice = ReduceSlice(comm, count, comm.rank());
  const auto part =
      std::span(data).subspan(static_cast<std::size_t>(slice.begin), static_cast<std::size_t>(slice.size()));
  ReduceScatterSum<float>(comm, data, part);
  const auto expected_part = std::span(expected).subspan(static_cast<std::size_t>(slice.begin), part.size());
  Require(SameBits<float>(part, expected_part), "another sum");
}

void AllAbsentIsZero(Communicator& comm) {
  Require(AllReduceSum(comm, 5.0, /*present=*/false) == 0.0, "not zero");
  std::vector<float> data(3000, 5.0f);
  AllReduceSum<float>(comm, data, /*present=*/false);
  for (float value : data) Require(value == 0.0f, "not zero: {}", value);
}

void HashesWrap(Communicator& comm) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const std::uint64_t sum = AllReduceSum(comm, ~std::uint64_t{0});
  Require(sum == 0 - ranks, "sum {}", sum);
}

void SumsCountTheirBytes(Communicator& comm) {
  const std::int64_t count = 1 << 14;
  if (count % comm.size() != 0) return;
  comm.ResetSent();
  std::vector<float> data(static_cast<std::size_t>(count), 1.0f);
  AllReduceSum<float>(comm, data);
  const std::int64_t others = 4 * (count - count / comm.size());
  Require(comm.sent(Op::kAllReduce) == 2 * others, "{} bytes, not {}", comm.sent(Op::kAllReduce), 2 * others);
  std::vector<float> part(static_cast<std::size_t>(count / comm.size()));
  ReduceScatterSum<float>(comm, data, part);
  Require(comm.sent(Op::kReduceScatter) == others, "{} bytes", comm.sent(Op::kReduceScatter));
}

}  // namespace

std::vector<ConformanceCase> SumCases() {
  return {{"SumsOfFloat", Sums<float>},
          {"SumsOfDouble", Sums<double>},
          {"SumsOfInt64", Sums<std::int64_t>},
          {"SumsOfUint64", Sums<std::uint64_t>},
          {"ReduceScatterInPlace", ReduceScatterInPlace},
          {"AllAbsentIsZero", AllAbsentIsZero},
          {"HashesWrap", HashesWrap},
          {"SumsCountTheirBytes", SumsCountTheirBytes}};
}

}  // namespace hotrow
