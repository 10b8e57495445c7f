#include "hotrow/dist/recat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hotrow/files/safetensors.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

constexpr RecatMode kEngines[] = {RecatMode::kCpu, RecatMode::kSc, RecatMode::kTc};

// An arrival that owns its memory: each id tells where it was.
struct Arrival {
  std::int64_t sources;
  std::int64_t features;
  std::vector<std::int64_t> samples;
  std::vector<std::int32_t> sizes;
  std::vector<std::vector<std::int32_t>> lengths;  // [sources * features]
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> starts;
  std::vector<const std::int32_t*> length_pointers;
  std::int64_t elements = 0;  // of the buffer, gaps between sources included

  Arrival(std::mt19937& random, std::int64_t w, std::int64_t f, bool fixed) : sources(w), features(f) {
    const auto below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(n)); };
    for (std::int64_t k = 0; k < f; ++k)
      sizes.push_back(fixed || below(3) == 0 ? below(5) : RecatShape::kJagged);
    for (std::int64_t s = 0; s < w; ++s) samples.push_back(below(4) == 0 ? 0 : below(70));
    for (std::int64_t s = 0; s < w; ++s) {
      starts.push_back(elements);
      for (std::int64_t k = 0; k < f; ++k) {
        const std::int32_t size = sizes[static_cast<std::size_t>(k)];
        std::vector<std::int32_t> of_block;
        std::int64_t count = 0;
        for (std::int64_t b = 0; b < samples[static_cast<std::size_t>(s)]; ++b) {
          of_block.push_back(size < 0 ? below(9) : size);
          count += of_block.back();
        }
        counts.push_back(count);
        elements += count;
        lengths.push_back(std::move(of_block));
      }
      elements += below(20);
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      length_pointers.push_back(sizes[i % static_cast<std::size_t>(f)] < 0 ? lengths[i].data() : nullptr);
    }
  }
  RecatShape shape() const { return {sources, features, samples, sizes, counts, length_pointers}; }

  // Elements of the arrival in the order of the result, by the definition: row f * W + s of the result is row
  // s * F + f of the arrival.
  std::vector<std::int64_t> Expected() const {
    std::vector<std::int64_t> order;
    for (std::int64_t f = 0; f < features; ++f) {
      for (std::int64_t s = 0; s < sources; ++s) {
        std::int64_t at = starts[static_cast<std::size_t>(s)];
        for (std::int64_t k = 0; k < f; ++k) at += counts[static_cast<std::size_t>(s * features + k)];
        for (std::int64_t i = 0; i < counts[static_cast<std::size_t>(s * features + f)]; ++i)
          order.push_back(at + i);
      }
    }
    return order;
  }
};

template <typename T>
void Check(Recat& recat, const Arrival& arrival, ThreadPool& pool) {
  Buffer<T> in(arrival.elements + 1);
  for (std::int64_t i = 0; i < arrival.elements; ++i) in[i] = static_cast<T>(i * 7 - 3);
  const std::vector<std::int64_t> expected = arrival.Expected();
  for (const std::int64_t shift : {0, 1}) {  // aligned for whole cache lines, and not
    Buffer<T> out(static_cast<std::int64_t>(expected.size()) + shift + 1);
    T* const result = out.data() + shift;
    result[expected.size()] = T{77};
    const std::int64_t moved =
        recat.Run(arrival.shape(), arrival.starts, reinterpret_cast<const std::byte*>(in.data()), sizeof(T),
                  reinterpret_cast<std::byte*>(result), pool);
    EXPECT_GE(moved, static_cast<std::int64_t>(2 * sizeof(T) * expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(result[i], in[expected[i]]) << i;
    EXPECT_EQ(result[expected.size()], T{77});
  }
}

TEST(Recat, EveryEngineFollowsTheDefinition) {
  ThreadPool one(1);
  ThreadPool three(3);
  test::ForEachSimdTarget([&] {
    std::mt19937 random(5);
    std::vector<Recat> engines(kEngines,
                               kEngines + 3);  // kept over shapes: an index must not outlive its own
    for (int round = 0; round < 60; ++round) {
      const Arrival arrival(random, 1 + round % 5, 1 + round % 4, round % 2 == 0);
      for (Recat& recat : engines) {
        SCOPED_TRACE(ToString(recat.mode()) + ", round " + std::to_string(round));
        Check<std::int64_t>(recat, arrival, one);
        Check<std::int32_t>(recat, arrival, three);
      }
    }
  });
}

TEST(Recat, AnIndexForFixedSizesIsMadeOnce) {
  ThreadPool pool(1);
  std::mt19937 random(6);
  const Arrival fixed(random, 4, 3, true);
  const Arrival jagged(random, 4, 3, false);
  for (const RecatMode mode : kEngines) {
    SCOPED_TRACE(ToString(mode));
    Recat recat(mode);
    for (int step = 0; step < 5; ++step) Check<std::int32_t>(recat, fixed, pool);  // two calls each
    EXPECT_EQ(recat.plans_made(), mode == RecatMode::kCpu ? 10 : 1);
    Recat every_time(mode);
    for (int step = 0; step < 5; ++step) Check<std::int32_t>(every_time, jagged, pool);
    EXPECT_EQ(every_time.plans_made(), 10);
  }
}

// Everything before the last source lies where it did.
TEST(Recat, AnIndexIsMadeAnewWhenOnlyTheLastBatchIsShorter) {
  ThreadPool pool(1);
  for (const RecatMode mode : kEngines) {
    SCOPED_TRACE(ToString(mode));
    Recat recat(mode);
    for (const std::int64_t last : {6, 4, 9}) {
      const std::vector<std::int64_t> samples = {5, last};
      const std::vector<std::int32_t> sizes = {2, 3};
      const std::vector<std::int64_t> counts = {10, 15, 2 * last, 3 * last};
      const std::vector<std::int64_t> starts = {0, 25};
      const std::vector<const std::int32_t*> lengths(4, nullptr);
      std::vector<std::int32_t> in(static_cast<std::size_t>(25 + 5 * last));
      std::iota(in.begin(), in.end(), 0);
      std::vector<std::int32_t> out(in.size());
      recat.Run({2, 2, samples, sizes, counts, lengths}, starts,
                reinterpret_cast<const std::byte*>(in.data()), 4, reinterpret_cast<std::byte*>(out.data()),
                pool);
      std::vector<std::int32_t> expected(in.begin(), in.begin() + 10);
      expected.insert(expected.end(), in.begin() + 25, in.begin() + 25 + 2 * last);
      expected.insert(expected.end(), in.begin() + 10, in.begin() + 25);
      expected.insert(expected.end(), in.begin() + 25 + 2 * last, in.end());
      EXPECT_EQ(out, expected) << last;
    }
  }
}

// FBGEMM's permute_2D_sparse_data on the same lengths and values.
TEST(Recat, AgreesWithTheGoldenPermutes) {
  ThreadPool pool(2);
  SafetensorsReader file(std::string(HOTROW_TEST_SOURCE_DIR) + "/golden/data/input_dist.safetensors");
  for (int number = 0; number < 3; ++number) {
    const std::string name = "permute" + std::to_string(number) + ".";
    const std::vector<std::int32_t> recat_rows = file.ReadI32(name + "recat");
    const std::vector<std::int32_t> lengths = file.ReadI32(name + "lengths");
    const std::vector<std::int64_t> values = file.ReadI64(name + "values");
    const std::vector<std::int64_t> expected = file.ReadI64(name + "out_values");
    const std::int64_t features = recat_rows[1] - recat_rows[0];
    const std::int64_t sources = static_cast<std::int64_t>(recat_rows.size()) / features;
    const std::int64_t samples = file.Info(name + "lengths").shape[1];

    std::vector<std::int64_t> counts;
    std::vector<const std::int32_t*> pointers;
    std::vector<std::int64_t> starts;
    std::int64_t at = 0;
    for (std::int64_t block = 0; block < sources * features; ++block) {
      if (block % features == 0) starts.push_back(at);
      pointers.push_back(lengths.data() + block * samples);
      counts.push_back(std::accumulate(pointers.back(), pointers.back() + samples, std::int64_t{0}));
      at += counts.back();
    }
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(sources), samples);
    const std::vector<std::int32_t> jagged(static_cast<std::size_t>(features), RecatShape::kJagged);
    const RecatShape shape{sources, features, sizes, jagged, counts, pointers};
    for (const RecatMode mode : kEngines) {
      SCOPED_TRACE(name + ToString(mode));
      std::vector<std::int64_t> out(values.size());
      Recat(mode).Run(shape, starts, reinterpret_cast<const std::byte*>(values.data()), 8,
                      reinterpret_cast<std::byte*>(out.data()), pool);
      EXPECT_EQ(out, expected);
    }
  }
}

}  // namespace
}  // namespace hotrow
