#include "hotrow/dense/elementwise.h"

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

constexpr std::int64_t kRowCounts[] = {1, 2, 9};
constexpr std::int64_t kColumnCounts[] = {1, 3, 16, 100, 131};

// Runs `check` for all shapes on all SIMD targets. `check` returns all it computed, which must be the same
// bits everywhere.
template <typename Check>
void ForShapesAndTargets(Check&& check) {
  for (const std::int64_t rows : kRowCounts) {
    for (const std::int64_t columns : kColumnCounts) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns);
      Floats first;
      test::ForEachSimdTarget([&] {
        const Floats bits = check(rows, columns);
        if (first.empty()) first = bits;
        EXPECT_EQ(bits, first);
      });
    }
  }
}

Floats Joined(std::initializer_list<Floats> parts) {
  Floats out;
  for (const Floats& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

TEST(ElementwiseTest, CrossForward) {
  ForShapesAndTargets([](std::int64_t rows, std::int64_t columns) {
    const std::int64_t size = rows * columns;
    const Floats x0 = RandomFloats(size, 1), u = RandomFloats(size, 2), x = RandomFloats(size, 3);
    Floats out(Z(size));
    CrossForward(x0.data(), u.data(), x.data(), size, out.data());
    Doubles expected;
    for (std::size_t i = 0; i < out.size(); ++i) expected.push_back(double{x0[i]} * u[i] + x[i]);
    ExpectClose(out, expected, 1e-6, "out");
    return out;
  });
}

TEST(ElementwiseTest, CrossBackward) {
  for (const bool overwrite : {false, true}) {
    for (const bool add_gradient : {false, true}) {
      for (const Accumulate accumulate : {Accumulate::kNo, Accumulate::kYes}) {
        ForShapesAndTargets([&](std::int64_t rows, std::int64_t columns) {
          const std::int64_t size = rows * columns;
          const Floats g = RandomFloats(size, 1), x0 = RandomFloats(size, 2), u = RandomFloats(size, 3);
          const Floats dx0_before = RandomFloats(size, 4), dbias_before = RandomFloats(columns, 5);
          Floats du = u, dx0 = dx0_before, dbias = dbias_before;
          CrossBackward(g.data(), x0.data(), rows, columns, {overwrite, add_gradient}, accumulate, du.data(),
                        dx0.data(), dbias.data());
          Doubles expected_du, expected_dx0, expected_dbias(Z(columns));
          for (std::size_t j = 0; accumulate == Accumulate::kYes && j < Z(columns); ++j) {
            expected_dbias[j] = dbias_before[j];
          }
          for (std::size_t i = 0; i < Z(size); ++i) {
            expected_du.push_back(double{g[i]} * x0[i]);
            expected_dx0.push_back((overwrite ? 0.0 : dx0_before[i]) + double{g[i]} * u[i] +
                                   (add_gradient ? g[i] : 0.0F));
            expected_dbias[i % Z(columns)] += expected_du.back();
          }
          ExpectClose(du, expected_du, 1e-6, "du");
          ExpectClose(dx0, expected_dx0, 1e-6, "dx0");
          ExpectClose(dbias, expected_dbias, 1e-5, "dbias");
          return Joined({du, dx0, dbias});
        });
      }
    }
  }
}

TEST(ElementwiseTest, ReluBackwardWithStrides) {
  for (const Accumulate accumulate : {Accumulate::kNo, Accumulate::kYes}) {
    ForShapesAndTargets([&](std::int64_t rows, std::int64_t columns) {
      const std::int64_t y_stride = columns + 3, dy_stride = columns + 5;
      Floats y = RandomFloats(rows * y_stride, 1);
      y[0] = 0.0F;  // the ReLU's gradient at zero is zero
      const Floats dy = RandomFloats(rows * dy_stride, 2), dbias_before = RandomFloats(columns, 3);
      Floats dz(Z(rows * columns)), dbias = dbias_before;
      ReluBackward(y.data(), y_stride, dy.data(), dy_stride, rows, columns, accumulate, dz.data(),
                   dbias.data());
      Doubles expected, expected_dbias(Z(columns));
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
          expected.push_back(y[Z(i * y_stride + j)] > 0.0F ? dy[Z(i * dy_stride + j)] : 0.0F);
          expected_dbias[Z(j)] += expected.back();
        }
      }
      for (std::size_t j = 0; accumulate == Accumulate::kYes && j < Z(columns); ++j) {
        expected_dbias[j] += dbias_before[j];
      }
      ExpectClose(dz, expected, 0.0, "dz");
      ExpectClose(dbias, expected_dbias, 1e-5, "dbias");
      return Joined({dz, dbias});
    });
  }
}

TEST(ElementwiseTest, OutputForward) {
  ForShapesAndTargets([](std::int64_t rows, std::int64_t columns) {
    const Floats h = RandomFloats(rows * columns, 1), w = RandomFloats(columns, 2);
    Floats logits(Z(rows));
    OutputForward(h.data(), w.data(), 0.25F, rows, columns, logits.data());
    Doubles expected(Z(rows), 0.25);
    for (std::size_t i = 0; i < h.size(); ++i) expected[i / Z(columns)] += double{h[i]} * w[i % Z(columns)];
    ExpectClose(logits, expected, 1e-5, "logits");
    return logits;
  });
}

TEST(ElementwiseTest, OutputBackward) {
  for (const bool relu : {false, true}) {
    for (const Accumulate accumulate : {Accumulate::kNo, Accumulate::kYes}) {
      ForShapesAndTargets([&](std::int64_t rows, std::int64_t columns) {
        const Floats h = RandomFloats(rows * columns, 1), w = RandomFloats(columns, 2);
        const Floats dlogits = RandomFloats(rows, 3), before = RandomFloats(columns, 4);
        Floats dw = before, dbias = before, dz(Z(rows * columns));
        OutputBackward(h.data(), w.data(), dlogits.data(), rows, columns, accumulate, dw.data(), dz.data(),
                       relu ? dbias.data() : nullptr);
        const bool add = accumulate == Accumulate::kYes;
        Doubles expected_dw(Z(columns)), expected_dbias(Z(columns)), expected_dz;
        for (std::size_t j = 0; j < Z(columns); ++j) {
          expected_dw[j] = add ? before[j] : 0.0F;
          expected_dbias[j] = add || !relu ? before[j] : 0.0F;
        }
        for (std::size_t i = 0; i < h.size(); ++i) {
          const std::size_t j = i % Z(columns);
          const double dlogit = dlogits[i / Z(columns)];
          expected_dw[j] += dlogit * h[i];
          expected_dz.push_back(!relu || h[i] > 0.0F ? dlogit * w[j] : 0.0);
          if (relu) expected_dbias[j] += expected_dz.back();
        }
        ExpectClose(dw, expected_dw, 1e-5, "dw");
        ExpectClose(dz, expected_dz, 1e-6, "dz");
        ExpectClose(dbias, expected_dbias, 1e-5, "dbias");
        return Joined({dw, dz, dbias});
      });
    }
  }
}

}  // namespace
}  // namespace hotrow
