#include "hotrow/files/strict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using testing::StartsWith;

std::string StrictJsonError(const std::string& text) {
  try {
    ParseStrictJson(text, 2, "f.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "(nothing)";
}

TEST(StrictJson, ParsesWhatIsSound) {
  const nlohmann::json json =
      ParseStrictJson(R"({"a": [1, -2, 2.5, "x", null, true], "b": {"a": 1}})", 2, "f");
  EXPECT_EQ(json["a"].size(), 6U);
  EXPECT_EQ(json["b"]["a"], 1);
}

TEST(StrictJson, RefusesWhatTheParserLetsPass) {
  EXPECT_EQ(StrictJsonError(R"({"a": 1, "b": {"a": 1}, "a": 2})"),
            "f.json: key \"a\" is there twice in one object");
  EXPECT_EQ(StrictJsonError(R"([{"a": 1}, {"a": 1}])"), "(nothing)");
  EXPECT_EQ(StrictJsonError("[[[]]]"), "f.json: nested deeper than 2 levels");
  EXPECT_EQ(StrictJsonError("[[],[],{}]"), "(nothing)");
  EXPECT_EQ(StrictJsonError(std::string("{}\0\0", 4)), "f.json: not JSON: it has a zero byte");
  EXPECT_THAT(StrictJsonError("{} x"), StartsWith("f.json: not JSON: parse error at line 1"));
  EXPECT_THAT(StrictJsonError("[\"\xff\"]"), StartsWith("f.json: not JSON:"));
}

// With the parser's callback this would take minutes.
TEST(StrictJson, TakesTimeByTheSizeOfTheText) {
  std::string text = "[{}";
  for (int i = 0; i < 300'000; ++i) text += ",{}";
  EXPECT_EQ(ParseStrictJson(text + "]", 2, "f").size(), 300'001U);
}

}  // namespace
}  // namespace hotrow
