#include "hotrow/dense/linear.h"

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

struct Layer {
  Layer(std::int64_t in, std::int64_t out, bool relu)
      : spec(AddLinear(parameters, "l", in, out, relu)),
        linear(parameters, spec, 64),
        runner(linear, scratch) {
    parameters.Allocate();
    const Floats values = RandomFloats(parameters.padded_size(), 1);
    std::copy(values.begin(), values.end(), parameters.weights());
    for (int job = 0; job < linear.num_packs(); ++job) linear.Pack(job);
  }
  Doubles Weights(std::int64_t index) const {
    const Parameter& p = parameters.list()[Z(index)];
    return {parameters.weights(index), parameters.weights(index) + p.size()};
  }
  Parameters parameters;
  LinearSpec spec;
  Linear linear;
  GemmScratch scratch;
  LinearRunner runner;
};

TEST(LinearTest, ForwardAndGradientsMatchNaive) {
  for (const std::int64_t rows : {1, 5, 64, 97}) {
    const std::int64_t in = 26, out = 40;
    Layer layer(in, out, false);
    const Floats x = RandomFloats(rows * in, 2), dz = RandomFloats(rows * out, 3);
    Floats y(Z(rows * out)), dx(Z(rows * in)), gradient(Z(layer.parameters.padded_size()));
    layer.runner.Forward(rows, x.data(), y.data());
    const Doubles w = layer.Weights(0), bias = layer.Weights(1);
    Doubles expected = NaiveProduct(ToDouble(x), w, rows, out, in);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % Z(out)];
    ExpectClose(y, expected, 1e-5, "y");

    layer.runner.InputGradient(rows, dz.data(), dx.data());
    ExpectClose(dx, NaiveProduct(ToDouble(dz), w, rows, in, out, false, true), 1e-5, "dx");

    layer.runner.WeightGradient(rows, x.data(), dz.data(), Accumulate::kNo, gradient.data());
    layer.runner.WeightGradient(rows, x.data(), dz.data(), Accumulate::kYes, gradient.data());
    Doubles dw = NaiveProduct(ToDouble(x), ToDouble(dz), in, out, rows, true, false);
    for (double& value : dw) value *= 2.0;
    ExpectClose(gradient.data(), dw, 1e-5, "dw");
  }
}

// More numbers of rows than are kept, twice: a product that was dropped is made again.
TEST(LinearTest, ManyRowCounts) {
  const std::int64_t in = 9, out = 17, most = 40;
  Layer layer(in, out, true);
  const Floats x = RandomFloats(most * in, 4);
  Floats all(Z(most * out));
  layer.runner.Forward(most, x.data(), all.data());
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t rows = 1; rows <= most; ++rows) {
      Floats y(Z(rows * out));
      layer.runner.Forward(rows, x.data(), y.data());
      ExpectClose(y, Doubles(all.begin(), all.begin() + rows * out), 1e-6, "y");
    }
  }
}

}  // namespace
}  // namespace hotrow
