#include "hotrow/embed/initial_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/base/size.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "hotrow/embed/initial_values.cc"
// clang-format off: foreach_target must come before highway.h
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace hotrow {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The 64-bit products of the 32-bit lanes of x with m, as their high and low halves.
template <class D32, class V = hn::Vec<D32>>
HWY_INLINE void Multiply(D32 d32, V x, V m, V& hi, V& lo) {
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(x)} * hn::GetLane(m);
  hi = hn::Set(d32, static_cast<std::uint32_t>(product >> 32));
  lo = hn::Set(d32, static_cast<std::uint32_t>(product));
#else
  const hn::Repartition<std::uint64_t, D32> d64;
  const auto even = hn::MulEven(x, m);
  const auto odd = hn::MulEven(hn::BitCast(d32, hn::ShiftRight<32>(hn::BitCast(d64, x))), m);
  hi = hn::OddEven(hn::BitCast(d32, odd), hn::BitCast(d32, hn::ShiftRight<32>(even)));
  lo = hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(odd)), hn::BitCast(d32, even));
#endif
}

// out[4 i .. 4 i + 3]: the values of the Philox4x32-10 block with counter (a_lo[i], a_hi[i], b[i], stream), i
// < count; reads and writes up to the next multiple of a vector.
void FillBlocks(std::int64_t count, std::uint64_t key, float bound, const std::uint32_t* a_lo,
                const std::uint32_t* a_hi, const std::uint32_t* b, float* out) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToFloat<decltype(d)> df;
  using V = hn::Vec<decltype(d)>;
  const V multiplier0 = hn::Set(d, 0xD2511F53U);  // Salmon et al., SC11, table 2, as are the key's increments
  const V multiplier1 = hn::Set(d, 0xCD9E8D57U);
  const auto value = [&](V word) HWY_ATTR {
    const auto unit =
        hn::Mul(hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRight<8>(word))), hn::Set(df, 0x1.0p-24F));
    return hn::Mul(hn::Sub(hn::Add(unit, unit), hn::Set(df, 1.0F)), hn::Set(df, bound));
  };
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    V c0 = hn::LoadU(d, a_lo + i);
    V c1 = hn::LoadU(d, a_hi + i);
    V c2 = hn::LoadU(d, b + i);
    V c3 = hn::Set(d, static_cast<std::uint32_t>(RandomStream::kEmbeddingInit));
    std::uint32_t key0 = static_cast<std::uint32_t>(key);
    std::uint32_t key1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      V hi0, lo0, hi1, lo1;
      Multiply(d, c0, multiplier0, hi0, lo0);
      Multiply(d, c2, multiplier1, hi1, lo1);
      c0 = hn::Xor(hn::Xor(hi1, c1), hn::Set(d, key0));
      c2 = hn::Xor(hn::Xor(hi0, c3), hn::Set(d, key1));
      c1 = lo1;
      c3 = lo0;
      key0 += 0x9E3779B9U;
      key1 += 0xBB67AE85U;
    }
    hn::StoreInterleaved4(value(c0), value(c1), value(c2), value(c3), df, out + 4 * i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hotrow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hotrow {
namespace {

HWY_EXPORT(FillBlocks);
constexpr std::int64_t kBlocksAtOnce = 64;  // a multiple of every vector's lanes

}  // namespace

InitialValues::InitialValues(std::uint64_t seed, std::int64_t table_index, const EmbeddingTableConfig& table)
    : key_(MixSeed(seed, static_cast<std::uint64_t>(table_index))),
      kind_(table.init.kind),
      scale_(kind_ == InitKind::kDefault
                 ? static_cast<float>(std::sqrt(1.0 / static_cast<double>(table.num_embeddings)))
                 : table.init.value) {}

void InitialValues::Fill(std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                         std::int64_t columns, float* out, std::int64_t out_stride) const {
  HOTROW_CHECK(first_column % 4 == 0);
  switch (kind_) {
    case InitKind::kDefault:
    case InitKind::kUniform:
      return FillUniform(first_row, rows, first_column, columns, out, out_stride);
    case InitKind::kNormal:
      return FillNormal(first_row, rows, first_column, columns, out, out_stride);
    case InitKind::kZeros:
      for (std::int64_t r = 0; r < rows; ++r) std::fill_n(out + r * out_stride, columns, 0.0F);
  }
}

void InitialValues::FillNormal(std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                               std::int64_t columns, float* out, std::int64_t out_stride) const {
  const auto pair = [&](std::uint32_t first, std::uint32_t second, float* values) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(UnitFloat(first))));
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(UnitFloat(second));
    values[0] = static_cast<float>(scale_ * radius * std::cos(angle));
    values[1] = static_cast<float>(scale_ * radius * std::sin(angle));
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; c += 4) {
      const auto words =
          RandomWords(key_, RandomStream::kEmbeddingInit, static_cast<std::uint64_t>(first_row + r),
                      static_cast<std::uint32_t>((first_column + c) / 4));
      float values[4];
      pair(words[0], words[1], values);
      pair(words[2], words[3], values + 2);
      std::copy_n(values, std::min<std::int64_t>(4, columns - c), out + r * out_stride + c);
    }
  }
}

void InitialValues::FillUniform(std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
                                std::int64_t columns, float* out, std::int64_t out_stride) const {
  const std::int64_t blocks = CeilDiv(columns, 4);
  const auto first_block = static_cast<std::uint32_t>(first_column / 4);
  std::uint32_t a_lo[kBlocksAtOnce] = {};
  std::uint32_t a_hi[kBlocksAtOnce] = {};
  std::uint32_t b[kBlocksAtOnce] = {};
  float values[4 * kBlocksAtOnce];
  // Rows of few columns share a call; rows of many take several.
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, kBlocksAtOnce / blocks);
  for (std::int64_t r = 0; r < rows; r += rows_at_once) {
    const std::int64_t group_rows = std::min(rows_at_once, rows - r);
    for (std::int64_t block = 0; block < blocks; block += kBlocksAtOnce) {
      const std::int64_t width = std::min(kBlocksAtOnce, blocks - block);
      for (std::int64_t i = 0; i < group_rows; ++i) {
        const auto row = static_cast<std::uint64_t>(first_row + r + i);
        for (std::int64_t k = 0; k < width; ++k) {
          a_lo[i * width + k] = static_cast<std::uint32_t>(row);
          a_hi[i * width + k] = static_cast<std::uint32_t>(row >> 32);
          b[i * width + k] = first_block + static_cast<std::uint32_t>(block + k);
        }
      }
      HWY_DYNAMIC_DISPATCH(FillBlocks)(group_rows * width, key_, scale_, a_lo, a_hi, b, values);
      const std::int64_t count = std::min(4 * width, columns - 4 * block);
      for (std::int64_t i = 0; i < group_rows; ++i) {
        std::memcpy(out + (r + i) * out_stride + 4 * block, values + i * width * 4,
                    static_cast<std::size_t>(count) * sizeof(float));
      }
    }
  }
}

}  // namespace hotrow
#endif  // HWY_ONCE
