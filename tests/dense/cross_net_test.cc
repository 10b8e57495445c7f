#include "hotrow/dense/cross_net.h"

#include <gtest/gtest.h>

#include <algorithm>

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

struct Shape {
  std::int64_t rows, width, rank, layers;
};
const Shape kShapes[] = {{1, 2, 1, 1}, {3, 27, 4, 1}, {5, 32, 6, 2}, {17, 100, 8, 3}, {33, 48, 64, 4}};

struct Net {
  explicit Net(const Shape& s, std::uint64_t seed) : net(parameters, "c", s.width, s.rank, s.layers, 64) {
    parameters.Allocate();
    const Floats values = RandomFloats(parameters.padded_size(), seed);
    std::copy(values.begin(), values.end(), parameters.weights());
    for (Linear* layer : net.linears()) {
      for (int job = 0; job < layer->num_packs(); ++job) layer->Pack(job);
    }
    runner = net.MakeRunner(scratch, arena, s.rows);
    arena.Allocate();
  }
  Doubles Weights(const std::string& name) const {
    for (const Parameter& p : parameters.list()) {
      const float* values = parameters.weights() + p.offset;
      if (p.name == name) return {values, values + p.size()};
    }
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
  Parameters parameters;
  CrossNet net;
  GemmScratch scratch;
  Arena arena;
  std::unique_ptr<InteractionRunner> runner;
};

// x_{l+1} for every l, x_0 first.
std::vector<Doubles> NaiveForward(const Net& net, const Shape& s, const Doubles& x0) {
  std::vector<Doubles> xs = {x0};
  for (std::int64_t l = 0; l < s.layers; ++l) {
    const auto name = [&](const char* kind) { return std::string("c.") + kind + "." + std::to_string(l); };
    const Doubles v = NaiveProduct(xs.back(), net.Weights(name("V_kernels")), s.rows, s.rank, s.width);
    Doubles next = NaiveProduct(v, net.Weights(name("W_kernels")), s.rows, s.width, s.rank);
    const Doubles bias = net.Weights(name("bias"));
    for (std::size_t i = 0; i < next.size(); ++i)
      next[i] = x0[i] * (next[i] + bias[i % Z(s.width)]) + xs.back()[i];
    xs.push_back(next);
  }
  return xs;
}

TEST(CrossNetTest, ForwardMatchesNaive) {
  for (const Shape& s : kShapes) {
    Net net(s, 1);
    const Floats x = RandomFloats(s.rows * s.width, 2);
    const Doubles expected = NaiveForward(net, s, ToDouble(x)).back();
    double largest = 1.0;
    for (const double value : expected) largest = std::max(largest, std::fabs(value));
    Doubles scaled = expected;
    const float* z = net.runner->Forward(s.rows, x.data());
    Floats actual(z, z + expected.size());
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      scaled[i] /= largest;
      actual[i] /= static_cast<float>(largest);
    }
    ExpectClose(actual, scaled, 2e-5, "x");
  }
}

// Central differences of Σ out ⊙ g in double precision.
TEST(CrossNetTest, GradientsMatchDifferences) {
  for (const Shape& s : {Shape{1, 3, 2, 1}, Shape{4, 10, 3, 2}, Shape{3, 8, 2, 3}}) {
    SCOPED_TRACE(testing::Message() << s.rows << " rows, width " << s.width << ", layers " << s.layers);
    Net net(s, 3);
    Floats x = RandomFloats(s.rows * s.width, 4);
    const Floats g = RandomFloats(s.rows * s.width, 5);
    Floats gradient(Z(net.parameters.padded_size()), NAN), dx(x.size(), NAN);
    net.runner->Forward(s.rows, x.data());
    std::copy(g.begin(), g.end(), net.runner->output_gradient());
    net.runner->Backward(s.rows, x.data(), Accumulate::kNo, gradient.data(), dx.data());

    const auto objective = [&] {
      const Doubles out = NaiveForward(net, s, ToDouble(x)).back();
      double sum = 0.0;
      for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * g[i];
      return sum;
    };
    const auto expect_slope = [&](float& value, float slope, const std::string& what) {
      const float before = value, step = 0x1p-10F;
      value = before + step;
      const double high = value, above = objective();
      value = before - step;
      const double low = value, below = objective();
      value = before;
      const double expected = (above - below) / (high - low);
      EXPECT_NEAR(slope, expected, 2e-4 * (1.0 + std::fabs(expected))) << what;
    };
    for (std::size_t i = 0; i < x.size(); ++i) expect_slope(x[i], dx[i], "x " + std::to_string(i));
    for (const Parameter& p : net.parameters.list()) {
      for (std::int64_t i = 0; i < p.size(); ++i) {
        expect_slope(net.parameters.weights()[p.offset + i], gradient[Z(p.offset + i)],
                     p.name + " " + std::to_string(i));
      }
    }
  }
}

}  // namespace
}  // namespace hotrow
