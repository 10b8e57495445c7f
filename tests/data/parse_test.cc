#include "hotrow/data/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hotrow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ParseNumber, TakesTheWholeField) {
  EXPECT_EQ(ParseNumber(" +2.5e1\t"), 25.0);
  for (const char* text : {"", " ", "1 2", "0x10", "1e", "--1", "+-1", "1,5", "1_000"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

TEST(ParseNumber, TooSmallIsZeroAndTooLargeIsInfinite) {
  EXPECT_EQ(ParseNumber("1e-320"), 1e-320);
  for (const char* text : {"1e-400", "1E-400", "1e-99999999999999999999", "0.01e-330", "123.5e-400"}) {
    EXPECT_EQ(ParseNumber(text), 0.0) << text;
  }
  EXPECT_TRUE(std::signbit(*ParseNumber("-1e-400")));
  EXPECT_EQ(ParseNumber("-1e-400"), 0.0);
  for (const char* text : {"1e400", "1e+400", "+1e400", "1e99999999999999999999", "0.001e400", "1.5E310"}) {
    EXPECT_EQ(ParseNumber(text), kInfinity) << text;
  }
  EXPECT_EQ(ParseNumber("-1e400"), -kInfinity);
  EXPECT_EQ(ParseNumber("0." + std::string(500, '0') + "1"), 0.0);
  EXPECT_EQ(ParseNumber(std::string(500, '9')), kInfinity);
  EXPECT_EQ(ParseNumber("0." + std::string(500, '0') + "1e501"), 1.0);
}

TEST(ParseInteger, IsStrict) {
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(ParseInteger("+7"), 7);
  for (const char* text : {"", "9223372036854775808", "1e3", "0x10", "12abc", "1.0"}) {
    EXPECT_FALSE(ParseInteger(text)) << text;
  }
}

}  // namespace
}  // namespace hotrow
