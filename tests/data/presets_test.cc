#include "hotrow/data/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::int64_t Sum(const std::vector<std::int64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

TEST(CardinalityPreset, SumsAreThePublishedOnes) {
  EXPECT_EQ(Sum(CardinalityPreset("mlperf")), 204'184'588);
  EXPECT_EQ(Sum(CardinalityPreset("canonical")), 228'487'552);
  EXPECT_EQ(Sum(CardinalityPreset("shrunk")), 28'141'310);
  EXPECT_EQ(Sum(CardinalityPreset("tiny")), 921'198);
  for (const char* name : {"tiny", "shrunk", "canonical", "mlperf"}) {
    EXPECT_EQ(CardinalityPreset(name).size(), 26U);
  }
}

TEST(CardinalityPreset, MaxRowsCapsEveryTable) {
  const auto rows = CardinalityPreset("canonical", 500);
  EXPECT_EQ(*std::max_element(rows.begin(), rows.end()), 500);
  EXPECT_EQ(rows[5], 3);
}

TEST(CardinalityPreset, UnknownNameListsTheValidOnes) {
  EXPECT_THAT([] { CardinalityPreset("huge"); },
              ThrowsMessage<Error>("cardinality: 'huge' is none of tiny, shrunk, canonical, mlperf"));
  EXPECT_THAT([] { CardinalityPreset("tiny", -1); }, ThrowsMessage<Error>("max rows: -1 is negative"));
}

TEST(ParseRows, PresetOrList) {
  EXPECT_EQ(ParseRows("mlperf", 10), CardinalityPreset("mlperf", 10));
  EXPECT_THAT(ParseRows("5,6"), ElementsAre(5, 6));
  EXPECT_THAT(ParseRows("5,600", 7), ElementsAre(5, 7));
  EXPECT_THAT([] { ParseRows("5,0"); }, ThrowsMessage<Error>(HasSubstr("rows: '0' in '5,0'")));
  EXPECT_THAT([] { ParseRows("5,,6"); }, ThrowsMessage<Error>(HasSubstr("rows: '' in '5,,6'")));
  EXPECT_THAT([] { ParseRows("big"); }, ThrowsMessage<Error>(HasSubstr("'big' is none of tiny")));
  EXPECT_THAT([] { ParseRows(""); }, ThrowsMessage<Error>(HasSubstr("'' is none of tiny")));
  EXPECT_THAT([] { ParseRows("99999999999999999999"); },
              ThrowsMessage<Error>(HasSubstr("is not an integer")));
}

TEST(ParseMultiHot, NamesAndLists) {
  const auto mlperf = ParseMultiHot("mlperf", 26);
  EXPECT_EQ(std::accumulate(mlperf.begin(), mlperf.end(), 0), 214);
  EXPECT_EQ(mlperf[20], 100);
  EXPECT_THAT(ParseMultiHot("one", 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(ParseMultiHot("4,0", 2), ElementsAre(4, 0));
  EXPECT_THAT([] { ParseMultiHot("mlperf", 3); },
              ThrowsMessage<Error>("multi-hot: 'mlperf' has 26 sizes, but there are 3 features"));
  EXPECT_THAT(
      [] { ParseMultiHot("1,x", 2); },
      ThrowsMessage<Error>(
          "multi-hot: 'x' in '1,x' is not an integer from 0 up; valid are mlperf, one or a comma list"));
}

}  // namespace
}  // namespace hotrow
