#include "hotrow/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hotrow/base/error.h"
#include "random_plans.h"

namespace hotrow {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::Random;
using testing::RandomMixedPlan;
using testing::RandomModel;
using testing::RandomNonsense;
using ::testing::StartsWith;
using testing::Uniform;

ShardingPlan Example() {
  return {2,
          {{"a", 10, 8, ShardingType::kColumnWise, 0, {{0, 0, 10, 0, 4}, {1, 0, 10, 4, 4}}},
           {"b \"ü\"\n", 3, 8, ShardingType::kGrid, 2, {{0, 0, 2, 0, 8}, {1, 2, 1, 0, 8}}}}};
}

// The example's text with the first `from` replaced.
std::string Changed(const std::string& from, const std::string& to) {
  std::string text = PlanToJson(Example());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ParseError(const std::string& text) {
  return ErrorOf([&] { ParsePlan(text, "p.json"); });
}

TEST(PlanFile, RoundTripsValidPlansAndNonsense) {
  EXPECT_EQ(ParsePlan(PlanToJson(Example()), "p"), Example());
  EXPECT_EQ(ParsePlan(PlanToJson({}), "p"), ShardingPlan{});
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const ShardingPlan valid = RandomMixedPlan(random, RandomModel(random, 4), Uniform(random, 1, 64));
    EXPECT_EQ(ParsePlan(PlanToJson(valid), "p"), valid);
    const ShardingPlan nonsense = RandomNonsense(random);
    EXPECT_EQ(ParsePlan(PlanToJson(nonsense), "p"), nonsense);
  }
}

TEST(PlanFile, StaysReadable) {
  EXPECT_EQ(PlanToJson(Example()),
            R"({
 "format": "hotrow_sharding_plan",
 "version": 1,
 "world": 2,
 "tables": [
  {"name": "a", "rows": 10, "dim": 8, "sharding": "column_wise", "shards": [
   {"rank": 0, "first_row": 0, "rows": 10, "first_column": 0, "columns": 4},
   {"rank": 1, "first_row": 0, "rows": 10, "first_column": 4, "columns": 4}]},
  {"name": "b \"ü\"\n", "rows": 3, "dim": 8, "sharding": "grid", "group_size": 2, "shards": [
   {"rank": 0, "first_row": 0, "rows": 2, "first_column": 0, "columns": 8},
   {"rank": 1, "first_row": 2, "rows": 1, "first_column": 0, "columns": 8}]}]
}
)");
}

TEST(PlanFile, EveryErrorNamesFileAndPlace) {
  const struct {
    std::string from;
    std::string to;
    std::string error;
  } cases[] = {
      {"\"world\": 2", "\"world\": \"2\"", "p.json: /world: found \"2\"; a 64-bit integer is valid"},
      {"\"world\": 2", "\"world\": 2.0", "p.json: /world: found 2.0; a 64-bit integer is valid"},
      {"\"world\": 2", "\"world\": 9223372036854775808",
       "p.json: /world: found 9223372036854775808; a 64-bit integer is valid"},
      {"\"world\": 2,", "", "p.json: the whole: key \"world\" is missing"},
      {"\"world\": 2", "\"world\": 2, \"extra\": null",
       "p.json: the whole: unknown key \"extra\"; valid are format, version, world, tables"},
      {"\"world\": 2", "\"world\": 2, \"world\": 2", "p.json: key \"world\" is there twice in one object"},
      {"\"version\": 1", "\"version\": 2",
       "p.json: /version: version 2 is not known; this build reads 1 to 1"},
      {"\"version\": 1", "\"version\": 0",
       "p.json: /version: version 0 is not known; this build reads 1 to 1"},
      {"hotrow_sharding_plan", "other", "p.json: /format: \"other\" is not \"hotrow_sharding_plan\""},
      {"column_wise", "diagonal",
       "p.json: /tables/0/sharding: \"diagonal\" is none of table_wise, column_wise, row_wise, grid, "
       "data_parallel"},
      {"\"name\": \"a\"", "\"name\": null", "p.json: /tables/0/name: found null; a string is valid"},
      {"\"group_size\": 2, ", "", "p.json: /tables/1: key \"group_size\" is missing"},
      {"\"column_wise\", ", "\"column_wise\", \"group_size\": 2, ",
       "p.json: /tables/0: unknown key \"group_size\"; valid are name, rows, dim, sharding, shards"},
      {"{\"rank\": 1", "{\"rank\": true",
       "p.json: /tables/0/shards/1/rank: found true; a 64-bit integer is valid"},
      {"\"rank\": 1", "\"Rank\": 1",
       "p.json: /tables/0/shards/1: unknown key \"Rank\"; valid are rank, first_row, rows, "
       "first_column, columns"},
      {"\"shards\": [", "\"shards\": [[],", "p.json: /tables/0/shards/0: found an array; an object is valid"},
  };
  for (const auto& c : cases) EXPECT_EQ(ParseError(Changed(c.from, c.to)), c.error);
}

TEST(PlanFile, OtherFilesAreToldAsSuch) {
  for (const char* text : {"[]", "{}", "3", "null", "{\"format\": \"x\"}"}) {
    EXPECT_THAT(ParseError(text), StartsWith("p.json: the whole: not a sharding plan:")) << text;
  }
  EXPECT_THAT(ParseError(""), StartsWith("p.json: not JSON: parse error at line 1, column 1"));
  EXPECT_THAT(ParseError("{\"a\": }"), StartsWith("p.json: not JSON: parse error at line 1, column 7"));
  EXPECT_THAT(ParseError(PlanToJson(Example()) + "{}"), StartsWith("p.json: not JSON:"));
  EXPECT_THAT(ParseError("{\"format\": \"\xff\"}"), StartsWith("p.json: not JSON:"));
  EXPECT_THAT(ParseError(std::string(1'000'000, '[')), HasSubstr("nested deeper than 6 levels"));
  EXPECT_THAT(ParseError("{\"world\": 1e999}"), StartsWith("p.json: not JSON:"));
}

TEST(PlanFile, HostileBytesGiveAnErrorOrAPlan) {
  Random random(2);
  const std::string good = PlanToJson(Example());
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (std::int64_t edits = Uniform(random, 1, 3); edits > 0; --edits) {
      const auto at = static_cast<std::size_t>(Uniform(random, 0, std::ssize(text) - 1));
      switch (Uniform(random, 0, 3)) {
        case 0:
          text[at] = static_cast<char>(Uniform(random, 0, 255));
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(Uniform(random, 1, 9)));
          break;
        case 2:
          text.insert(at, 1, "{}[]\",:0-e.\\u"[Uniform(random, 0, 12)]);
          break;
        default: {
          const std::string copy = text.substr(at, static_cast<std::size_t>(Uniform(random, 1, 60)));
          text.insert(static_cast<std::size_t>(Uniform(random, 0, std::ssize(text))), copy);
        }
      }
      if (text.empty()) text = " ";
    }
    try {
      const ShardingPlan plan = ParsePlan(text, "p.json");
      ++parsed;
      EXPECT_EQ(ParsePlan(PlanToJson(plan), "p"), plan);
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), StartsWith("p.json: "));
    }
  }
  EXPECT_GT(parsed, 100);
}

class PlanOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / fmt::format("plan_{}_{}", getpid(), info->name());
    fs::create_directories(directory_);
    path_ = (directory_ / "plan.json").string();
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::int64_t Files() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }

  fs::path directory_;
  std::string path_;
};

TEST_F(PlanOnDisk, SavesAndReplaces) {
  std::ofstream(path_) << "something else, and longer than needed: " << std::string(5000, 'x');
  SavePlan(Example(), path_);
  EXPECT_EQ(LoadPlan(path_), Example());
  EXPECT_EQ(Files(), 1);
}

TEST_F(PlanOnDisk, WhatCannotBeReadOrWrittenIsAnError) {
  EXPECT_THAT(ErrorOf([&] { LoadPlan(path_); }), HasSubstr("plan.json: cannot open: No such file"));
  EXPECT_THAT(ErrorOf([&] { LoadPlan(directory_.string()); }), HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf([&] { LoadPlan("/dev/zero"); }), HasSubstr("more than"));
  EXPECT_THAT(ErrorOf([&] { SavePlan(Example(), directory_.string()); }), HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf([&] { SavePlan(Example(), (directory_ / "no" / "p.json").string()); }),
              HasSubstr("cannot write: No such file"));
  ShardingPlan plan = Example();
  plan.tables[0].table = "\xff";
  EXPECT_THAT(ErrorOf([&] { SavePlan(plan, path_); }), HasSubstr("not UTF-8"));
  EXPECT_EQ(Files(), 0);
}

}  // namespace
}  // namespace hotrow
