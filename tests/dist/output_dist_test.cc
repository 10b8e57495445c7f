#include "hotrow/dist/output_dist.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hotrow/base/rng.h"
#include "hotrow/comm/reduce.h"
#include "hotrow/comm/thread_ranks.h"
#include "tests/support/pooled_places.h"

namespace hotrow {
namespace {

// Feature 0 is cut into whole pieces, one a rank; features 1 and 2 are sums over ranks, 2 a MEAN and not of
// every rank; 3 is nobody's.
constexpr std::int64_t kDims[] = {44, 5, 12, 4};
const std::vector<std::int64_t> kColumns = {20, 64, 3, 70};
constexpr std::int64_t kStride = 80;

std::vector<std::vector<PooledPiece>> Pieces(int world) {
  std::vector<std::vector<PooledPiece>> pieces(static_cast<std::size_t>(world));
  for (int r = 0; r < world; ++r) {
    const Slice columns = EvenSlice(kDims[0] / 4, world, r);
    const std::int64_t last = r + 1 == world ? kDims[0] : 4 * columns.end;
    std::vector<PooledPiece>& mine = pieces[static_cast<std::size_t>(r)];
    mine.push_back({1, 0, kDims[1], true, false});
    mine.push_back({0, 4 * columns.begin, last - 4 * columns.begin, false, false});
    if (r != 1) mine.push_back({2, 0, 8, true, true});
    if (r != 0 || world == 1) mine.push_back({2, 8, 4, true, true});
  }
  return pieces;
}

std::vector<std::int64_t> Samples(int world) {
  std::vector<std::int64_t> samples;
  for (int r = 0; r < world; ++r) samples.push_back(r == 2 ? 0 : 70 + r);
  return samples;
}

// What `rank` pools of a destination's sample: sums of such numbers depend on their order.
float Pooled(int rank, int destination, std::int64_t sample, std::int64_t feature, std::int64_t column) {
  const auto words =
      RandomWords(static_cast<std::uint64_t>(100 * rank + destination), RandomStream::kPlanted,
                  static_cast<std::uint64_t>(sample * 1000 + column), static_cast<std::uint32_t>(feature));
  return (UnitFloat(words[0]) - 0.5F) * (words[1] % 3 == 0 ? 1000.0F : 1.0F);
}

// Destination's element by the definition.
float Expected(const std::vector<std::vector<PooledPiece>>& pieces, int destination, std::int64_t sample,
               std::int64_t feature, std::int64_t column, float scale) {
  std::vector<float> values;
  bool mean = false;
  for (int r = 0; r < static_cast<int>(pieces.size()); ++r) {
    for (const PooledPiece& piece : pieces[static_cast<std::size_t>(r)]) {
      if (piece.feature != feature || column < piece.first_column ||
          column >= piece.first_column + piece.columns)
        continue;
      values.push_back(Pooled(r, destination, sample, feature, column));
      mean = piece.mean;
    }
  }
  std::vector<const float*> sources;
  for (const float& value : values) sources.push_back(&value);
  float sum = 0;
  TreeSum<float>(sources, 1, &sum);
  return mean ? sum * scale : sum;
}

void Check(int world, OutputPermute permute) {
  const auto pieces = Pieces(world);
  const auto samples = Samples(world);
  RunThreadRanks(world, [&](Communicator& comm) {
    ThreadPool pool(1 + comm.rank() % 2);
    OutputDist dist(pieces, permute, comm, pool);
    const auto self = static_cast<std::size_t>(comm.rank());
    const std::vector<PooledPiece>& mine = pieces[self];
    const std::int64_t rows = samples[self];
    const auto scale_of = [](int rank, std::int64_t sample) {
      return 1.0F / static_cast<float>(1 + (sample + rank) % 5);
    };
    std::vector<float> scales;
    for (std::int64_t s = 0; s < rows; ++s) scales.push_back(scale_of(comm.rank(), s));
    const std::vector<const float*> scale_pointers = {nullptr, nullptr, scales.data(), nullptr};
    std::vector<float> x(static_cast<std::size_t>(rows * kStride));
    const std::int64_t longest = *std::max_element(samples.begin(), samples.end());
    const std::vector<PooledPlace> places = test::PlacesAt(kColumns, kStride);
    std::vector<PooledPlace> gradient_places;
    FeatureMajorPlaces(longest, kDims, gradient_places);
    std::vector<float> dx(
        static_cast<std::size_t>(gradient_places.back().first + longest * gradient_places.back().stride));
    for (int step = 0; step < 2; ++step) {
      std::fill(x.begin(), x.end(), 7.0F);
      dist.BeginForward({x.data(), places}, samples);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        for (int d = 0; d < world; ++d) {
          const PooledRows<float> place = dist.Place(i, d);
          for (std::int64_t s = 0; s < samples[static_cast<std::size_t>(d)]; ++s) {
            for (std::int64_t c = 0; c < mine[i].columns; ++c)
              place.data[s * place.stride + c] =
                  Pooled(comm.rank(), d, s, mine[i].feature, mine[i].first_column + c);
          }
        }
      }
      dist.EndForward(scale_pointers);
      std::vector<float> expected(x.size(), 7.0F);  // what lies between the features is left alone
      for (std::int64_t s = 0; s < rows; ++s) {
        for (std::int64_t f = 0; f < 3; ++f) {
          for (std::int64_t c = 0; c < kDims[f]; ++c)
            expected[static_cast<std::size_t>(s * kStride + kColumns[static_cast<std::size_t>(f)] + c)] =
                Expected(pieces, comm.rank(), s, f, c, scales[static_cast<std::size_t>(s)]);
        }
      }
      ASSERT_EQ(x, expected);

      // Gradients feature after feature, as towers leave them.
      for (std::size_t f = 0; f < kColumns.size(); ++f) {
        for (std::int64_t s = 0; s < rows; ++s) {
          for (std::int64_t c = 0; c < kDims[f]; ++c)
            dx[static_cast<std::size_t>(gradient_places[f].first + s * kDims[f] + c)] =
                Pooled(comm.rank(), 99, s, 9, kColumns[f] + c);
        }
      }
      dist.BeginBackward({dx.data(), gradient_places}, samples, scale_pointers);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        for (int source = 0; source < world; ++source) {
          const PooledRows<const float> rows_of = dist.Gradient(i, source);
          for (std::int64_t s = 0; s < samples[static_cast<std::size_t>(source)]; ++s) {
            for (std::int64_t c = 0; c < mine[i].columns; ++c) {
              const std::int64_t column =
                  kColumns[static_cast<std::size_t>(mine[i].feature)] + mine[i].first_column + c;
              const float gradient = Pooled(source, 99, s, 9, column);
              ASSERT_EQ(rows_of.data[s * rows_of.stride + c],
                        mine[i].mean ? gradient * scale_of(source, s) : gradient);
            }
          }
        }
      }
      dist.EndBackward();
    }
  });
}

TEST(OutputDist, BringsPooledRowsToTheirSamplesAndGradientsBack) {
  for (const int world : {1, 2, 3, 4, 8}) {
    for (const OutputPermute permute : {OutputPermute::kNone, OutputPermute::kCpu}) {
      SCOPED_TRACE(std::to_string(world) + " ranks, permute " +
                   (permute == OutputPermute::kCpu ? "cpu" : "none"));
      Check(world, permute);
    }
  }
}

}  // namespace
}  // namespace hotrow
