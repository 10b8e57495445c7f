#include "hotrow/dense/dot_interaction.h"

#include <gtest/gtest.h>

#include "tests/dense/naive.h"
#include "tests/optim/simd_targets.h"

namespace hotrow {
namespace {

using test::Doubles;
using test::ExpectClose;
using test::Floats;
using test::RandomFloats;
using test::Z;

struct DotShape {
  std::int64_t rows, features, dim;
};
const DotShape kDotShapes[] = {{1, 1, 1},   {3, 2, 3},    {2, 3, 16}, {2, 4, 17},
                               {2, 5, 100}, {3, 26, 128}, {1, 26, 5}, {0, 2, 4}};

TEST(DotInteractionTest, ForwardMatchesNaiveOnEveryTarget) {
  for (const DotShape& s : kDotShapes) {
    SCOPED_TRACE(testing::Message() << s.rows << " rows, " << s.features << " features of " << s.dim);
    const std::int64_t vectors = s.features + 1, width = vectors * s.dim;
    const DotInteraction arch(s.features, s.dim);
    EXPECT_EQ(arch.out(), s.dim + vectors * s.features / 2);
    const Floats x = RandomFloats(s.rows * width, 1);
    Doubles expected;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const float* v = x.data() + row * width;
      expected.insert(expected.end(), v, v + s.dim);
      for (std::int64_t i = 0; i < vectors; ++i) {
        for (std::int64_t j = i + 1; j < vectors; ++j) {
          double dot = 0.0;
          for (std::int64_t c = 0; c < s.dim; ++c) dot += double{v[i * s.dim + c]} * v[j * s.dim + c];
          expected.push_back(dot);
        }
      }
      expected.resize(Z((row + 1) * arch.out_padded()), 7.0);  // what lies between rows is left alone
    }
    Floats first;
    test::ForEachSimdTarget([&] {
      Floats out(expected.size(), 7.0F);
      DotForward(x.data(), s.rows, vectors, s.dim, arch.out_padded(), out.data());
      ExpectClose(out, expected, 1e-5, "out");
      if (first.empty()) first = out;
      EXPECT_EQ(out, first);
    });
  }
}

TEST(DotInteractionTest, BackwardMatchesNaiveOnEveryTarget) {
  for (const DotShape& s : kDotShapes) {
    SCOPED_TRACE(testing::Message() << s.rows << " rows, " << s.features << " features of " << s.dim);
    const std::int64_t vectors = s.features + 1, width = vectors * s.dim;
    const std::int64_t stride = DotInteraction(s.features, s.dim).out_padded();
    const Floats x = RandomFloats(s.rows * width, 1), dout = RandomFloats(s.rows * stride, 2);
    Doubles expected(x.size());
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const float* v = x.data() + row * width;
      const float* g = dout.data() + row * stride;
      double* dv = expected.data() + row * width;
      for (std::int64_t c = 0; c < s.dim; ++c) dv[c] += *g++;
      for (std::int64_t i = 0; i < vectors; ++i) {
        for (std::int64_t j = i + 1; j < vectors; ++j, ++g) {
          for (std::int64_t c = 0; c < s.dim; ++c) {
            dv[i * s.dim + c] += double{*g} * v[j * s.dim + c];
            dv[j * s.dim + c] += double{*g} * v[i * s.dim + c];
          }
        }
      }
    }
    Floats first;
    test::ForEachSimdTarget([&] {
      Floats dx(x.size(), NAN);
      DotBackward(x.data(), dout.data(), s.rows, vectors, s.dim, stride, dx.data());
      ExpectClose(dx, expected, 1e-5, "dx");
      if (first.empty()) first = dx;
      EXPECT_EQ(dx, first);
    });
  }
}

}  // namespace
}  // namespace hotrow
