#include "hotrow/dense/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include "tests/dense/naive.h"

namespace hotrow {
namespace {

using test::Doubles;
using test::ExpectClose;
using test::Floats;
using test::NaiveProduct;
using test::RandomFloats;
using test::ToDouble;
using test::Z;

struct Sizes {
  std::int64_t m, n, k;
};
const std::vector<Sizes> kSizes = {{1, 1, 1},     {1, 20, 26},  {5, 20, 26},   {33, 80, 6},
                                   {7, 256, 512}, {64, 64, 64}, {1, 512, 100}, {50, 129, 3}};

double Tolerance(std::int64_t k) { return 1e-6 * std::sqrt(static_cast<double>(k)); }

TEST(GemmTest, ForwardMatchesNaive) {
  GemmScratch scratch;
  for (const Sizes s : kSizes) {
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k << " relu " << relu);
      const GemmSpec spec{.m = s.m, .n = s.n, .k = s.k, .bias = true, .relu = relu};
      PackedWeights weights({.m = 64, .n = s.n, .k = s.k, .bias = true, .relu = relu}, false);
      Gemm gemm = Gemm::WithWeights(spec, weights, scratch);
      const Floats a = RandomFloats(s.m * s.k, 1), b = RandomFloats(s.k * s.n, 2),
                   bias = RandomFloats(s.n, 3);
      weights.Pack(b.data());
      Floats c(Z(s.m * s.n), NAN);
      gemm.Run(a.data(), bias.data(), c.data());
      Doubles expected = NaiveProduct(ToDouble(a), ToDouble(b), s.m, s.n, s.k);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += bias[i % Z(s.n)];
        if (relu) expected[i] = std::max(expected[i], 0.0);
      }
      ExpectClose(c, expected, Tolerance(s.k), "c");
    }
  }
}

TEST(GemmTest, TransposedWeightsAndAccumulationMatchNaive) {
  GemmScratch scratch;
  for (const Sizes s : kSizes) {
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k << " accumulate " << accumulate);
      const GemmSpec spec{.m = s.m, .n = s.n, .k = s.k, .accumulate = accumulate};
      PackedWeights weights(spec, true);
      Gemm gemm = Gemm::WithWeights(spec, weights, scratch);
      const Floats a = RandomFloats(s.m * s.k, 4), b = RandomFloats(s.k * s.n, 5);
      weights.Pack(b.data());
      const Floats before = RandomFloats(s.m * s.n, 6);
      Floats c = before;
      gemm.Run(a.data(), nullptr, c.data());
      Doubles expected = NaiveProduct(ToDouble(a), ToDouble(b), s.m, s.n, s.k, false, true);
      for (std::size_t i = 0; accumulate && i < expected.size(); ++i) expected[i] += before[i];
      ExpectClose(c, expected, Tolerance(s.k), "c");
    }
  }
}

TEST(GemmTest, TransposedLeftOperandMatchesNaive) {
  GemmScratch scratch;
  for (const Sizes s : kSizes) {
    for (const bool accumulate : {false, true}) {
      SCOPED_TRACE(testing::Message() << s.m << "x" << s.n << "x" << s.k << " accumulate " << accumulate);
      Gemm gemm = Gemm::Transposed({.m = s.m, .n = s.n, .k = s.k, .accumulate = accumulate}, scratch);
      const Floats a = RandomFloats(s.m * s.k, 7), b = RandomFloats(s.k * s.n, 8);
      const Floats before = RandomFloats(s.m * s.n, 9);
      Floats c = before;
      gemm.RunTransposed(a.data(), b.data(), c.data());
      Doubles expected = NaiveProduct(ToDouble(a), ToDouble(b), s.m, s.n, s.k, true, false);
      for (std::size_t i = 0; accumulate && i < expected.size(); ++i) expected[i] += before[i];
      ExpectClose(c, expected, Tolerance(s.k), "c");
    }
  }
}

TEST(GemmTest, ShapesOfTheModelTakeAFastKernel) {
  if (GemmCpuIsa().find("avx2") == std::string::npos && GemmCpuIsa().find("avx512") == std::string::npos) {
    GTEST_SKIP() << "this CPU has no AVX2: " << GemmCpuIsa();
  }
  GemmScratch scratch;
  for (const Sizes s : std::vector<Sizes>{{512, 512, 32},
                                          {512, 1024, 3456},
                                          {512, 512, 3456},
                                          {512, 3456, 512},
                                          {1, 1024, 3456},
                                          {511, 256, 512},
                                          {512, 1024, 480}}) {
    const GemmSpec forward{.m = s.m, .n = s.n, .k = s.k, .bias = true, .relu = true};
    const PackedWeights weights(forward, false);
    EXPECT_FALSE(Gemm::WithWeights(forward, weights, scratch).is_reference());
    const GemmSpec input_gradient{.m = s.m, .n = s.k, .k = s.n, .accumulate = true};
    const PackedWeights turned(input_gradient, true);
    EXPECT_FALSE(Gemm::WithWeights(input_gradient, turned, scratch).is_reference());
    EXPECT_FALSE(
        Gemm::Transposed({.m = s.k, .n = s.n, .k = s.m, .accumulate = true}, scratch).is_reference());
  }
}

// The library would spread a product over OpenMP's threads, and its blocking follows their number; ours may
// not.
TEST(GemmTest, RunsOnTheCallingThreadAlone) {
  const std::int64_t m = 16, n = 64, k = 20000;
  const Floats a = RandomFloats(m * k, 10), b = RandomFloats(k * n, 11);
  const auto run = [&] {
    GemmScratch scratch;
    Floats c(Z(m * n));
    Gemm::Transposed({.m = m, .n = n, .k = k}, scratch).RunTransposed(a.data(), b.data(), c.data());
    return c;
  };
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Floats one = run();
  const auto threads_before = threads();
  omp_set_num_threads(7);
  EXPECT_EQ(run(), one);
  EXPECT_EQ(threads(), threads_before);
  EXPECT_EQ(omp_get_max_threads(), 7) << "the caller's setting was not given back";
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace hotrow
