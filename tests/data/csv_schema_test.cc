#include "hotrow/data/csv_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr const char* kFull = R"(
[model]
anything = 1
[data]
format = "csv"
separator = "\t"
quotes = false
header = false
columns = ["r", "x", "y", "g", "u", "n", "w", "gw"]
missing_values = ["", "NA"]
label = "r >= 4"
sample_weight = "w"
[[data.dense]]
column = "x"
scale = 0.5
transform = "log1p"
missing = 3
[[data.dense]]
column = "y"
transform = "standardize"
mean = 1
std = 2.5
missing = "mean"
[[data.sparse]]
column = "g"
name = "genres"
separator = "|"
max_length = 3
min_count = 2
table = "words"
weights = "gw"
[[data.sparse]]
column = "u"
encoding = "hash"
rows = 100
missing = "empty"
[[data.sparse]]
column = "n"
encoding = "integer"
rows = 7
)";

CsvSchema Load(const std::string& text) {
  const TempFile file("schema.toml", text);
  return LoadCsvSchema(file.path());
}

TEST(CsvSchema, ReadsEveryKey) {
  const CsvSchema schema = Load(kFull);
  EXPECT_EQ(schema.separator, '\t');
  EXPECT_FALSE(schema.quotes);
  EXPECT_FALSE(schema.header);
  EXPECT_EQ(schema.columns.size(), 8U);
  EXPECT_THAT(schema.missing_values, ElementsAre("", "NA"));
  EXPECT_EQ(ToString(schema.label), "r >= 4");
  EXPECT_EQ(schema.sample_weight, "w");
  ASSERT_EQ(schema.dense.size(), 2U);
  EXPECT_EQ(schema.dense[0].scale, 0.5);
  EXPECT_EQ(schema.dense[0].transform, DenseTransform::kLog1p);
  EXPECT_EQ(schema.dense[0].missing, 3.0);
  EXPECT_TRUE(schema.dense[1].missing_is_mean);
  EXPECT_EQ(schema.dense[1].std, 2.5);
  ASSERT_EQ(schema.sparse.size(), 3U);
  EXPECT_EQ(schema.sparse[0].name, "genres");
  EXPECT_EQ(schema.sparse[0].separator, '|');
  EXPECT_EQ(schema.sparse[0].missing, MissingField::kEmpty);
  EXPECT_FALSE(schema.sparse[0].single());
  EXPECT_EQ(schema.sparse[0].TableName(), "words");
  EXPECT_EQ(schema.sparse[0].weights, "gw");
  EXPECT_EQ(schema.sparse[1].TableName(), "t_u");
  EXPECT_EQ(schema.sparse[1].weights, "");
  EXPECT_FALSE(schema.sparse[1].single());
  EXPECT_TRUE(schema.sparse[2].single());
  EXPECT_EQ(schema.sparse[2].missing, MissingField::kError);
}

TEST(CsvSchema, JsonRoundTripsAndIsStable) {
  CsvSchema schema = Load(kFull);
  schema.sparse[0].vocabulary = {"a", "Ünïcode", "\xff\xfe raw \x80", "quote\"\n"};
  schema.sparse[0].rows = 5;
  schema.sparse[0].fitted = true;
  schema.dense[1].mean = 0.1 + 0.2;
  const std::string json = ToJson(schema);
  const CsvSchema read = CsvSchemaFromJson(json);
  EXPECT_EQ(ToJson(read), json);
  EXPECT_EQ(read.sparse[0].vocabulary, schema.sparse[0].vocabulary);
  EXPECT_EQ(read.dense[1].mean, schema.dense[1].mean);
  EXPECT_EQ(read.separator, '\t');
  EXPECT_EQ(read.label.threshold, 4.0);
  EXPECT_EQ(read.sample_weight, "w");
  EXPECT_EQ(read.sparse[0].table, "words");
  EXPECT_EQ(read.sparse[0].weights, "gw");
}

TEST(CsvSchema, JsonOfTheFirstVersionIsStillRead) {
  const CsvSchema read = CsvSchemaFromJson(
      R"({"columns":[],"dense":[],"format":"csv","header":true,"label":"y","missing_values":[""],)"
      R"("quotes":true,"separator":44,"sparse":[{"column":"u","encoding":"vocabulary","fitted":true,)"
      R"("max_length":0,"min_count":1,"missing":"value","name":"u","rows":2,"separator":null,)"
      R"("vocabulary":["a"]}],"version":1})");
  EXPECT_THAT(read.sparse[0].vocabulary, ElementsAre("a"));
  EXPECT_EQ(read.sparse[0].TableName(), "t_u");
  EXPECT_EQ(read.sample_weight, "");
}

TEST(CsvSchema, VocabulariesMayStandApartFromTheJson) {
  CsvSchema schema = Load(kFull);
  schema.sparse[0].vocabulary = {"a", "\xff\x00 raw"};
  schema.sparse[0].rows = 3;
  schema.sparse[0].fitted = true;
  Vocabularies apart;
  const std::string json = ToJson(schema, &apart);
  EXPECT_THAT(json, Not(HasSubstr("raw")));
  EXPECT_EQ(apart.at("genres"), schema.sparse[0].vocabulary);
  EXPECT_EQ(CsvSchemaFromJson(json, apart).sparse[0].vocabulary, schema.sparse[0].vocabulary);
  EXPECT_THAT([&] { CsvSchemaFromJson(json); },
              ThrowsMessage<Error>("CSV encoder: the vocabulary of feature 'genres' is missing"));
  apart["genres"].push_back("b");
  EXPECT_THAT([&] { CsvSchemaFromJson(json, apart); },
              ThrowsMessage<Error>("CSV encoder: the vocabulary of feature 'genres' has 3 values, not 2"));
}

TEST(CsvSchema, FeaturesOfOneTableAgree) {
  const auto two = [](const std::string& first, const std::string& second) {
    return Load("[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"item\"\n" + first +
                "[[data.sparse]]\ncolumn = \"history\"\n" + second);
  };
  const CsvSchema named = two("table = \"items\"\n", "table = \"items\"\nseparator = \" \"\n");
  EXPECT_EQ(FirstOfTable(named, 1), 0U);
  // The table that "item" has of its own, by its name.
  const CsvSchema own = two("", "table = \"t_item\"\n");
  EXPECT_EQ(FirstOfTable(own, 1), 0U);
  EXPECT_EQ(own.sparse[0].table, "t_item");
  EXPECT_EQ(FirstOfTable(two("", ""), 1), 1U);
  const std::string hash = "table = \"items\"\nencoding = \"hash\"\nrows = ";
  struct Bad {
    std::string first, second, what;
  };
  const std::vector<Bad> cases = {{"table = \"items\"\n", hash + "7\n", "encoding"},
                                  {hash + "7\n", hash + "8\n", "rows"},
                                  {"table = \"items\"\n", "table = \"items\"\nmin_count = 2\n", "min_count"}};
  for (const Bad& bad : cases) {
    EXPECT_THAT([&] { two(bad.first, bad.second); },
                ThrowsMessage<Error>(HasSubstr("'table' in [[data.sparse]] is 'items', the table of feature "
                                               "'item' too, but 'history' has another " +
                                               bad.what)));
  }
}

TEST(CsvSchema, TheModelsKeysOfATableArePassedOver) {
  std::string text = "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n";
  for (const std::string_view key : kTableKeys) text += std::string(key) + " = [\"anything\"]\n";
  EXPECT_EQ(Load(text).sparse.size(), 1U);
}

// What shares a table in a damaged or foreign file, and yet does not fit: ids would leave the table.
TEST(CsvSchema, JsonWhoseSharedTablesDisagreeIsAnError) {
  CsvSchema schema = Load(
      "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\nencoding = \"hash\"\nrows = 4\n"
      "[[data.sparse]]\ncolumn = \"v\"\nencoding = \"hash\"\nrows = 4\ntable = \"t_u\"\n");
  schema.sparse[1].rows = 5;
  EXPECT_THAT([&] { CsvSchemaFromJson(ToJson(schema)); },
              ThrowsMessage<Error>(HasSubstr("'u' and 'v' share table 't_u', but differ in its rows")));
  schema.sparse[1].rows = 4;
  schema.sparse[1].vocabulary = {"x"};
  EXPECT_THROW(CsvSchemaFromJson(ToJson(schema)), Error);
}

TEST(CsvSchema, DamagedJsonIsAnError) {
  const std::string json = ToJson(Load(kFull));
  EXPECT_THAT([] { CsvSchemaFromJson("{"); }, ThrowsMessage<Error>(HasSubstr("CSV encoder: damaged JSON")));
  EXPECT_THAT(
      [] { CsvSchemaFromJson(R"({"format":"csv","version":3})"); },
      ThrowsMessage<Error>(HasSubstr("version 3 is unknown to this build, which reads versions 1 to 2")));
  RandomSequence random(4, RandomStream::kShuffle);
  for (int round = 0; round < 2000; ++round) {
    std::string text = json;
    const auto at = static_cast<std::size_t>(random.NextBelow(static_cast<std::int64_t>(text.size())));
    if (round % 2 == 0) {
      text[at] = static_cast<char>(random.NextBelow(256));
    } else {
      text.erase(at, static_cast<std::size_t>(random.NextBelow(20)));
    }
    try {
      CsvSchemaFromJson(text);
    } catch (const Error&) {
    }
  }
}

TEST(CsvSchema, WordsOfAnotherVersionAreNotTakenForTheDefault) {
  const std::string json = ToJson(Load(kFull));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("encoding":"hash")", R"("encoding":"hash2")"},
                                                        {R"("missing":"error")", R"("missing":0)"},
                                                        {R"("transform":"log1p")", R"("transform":"log10")"},
                                                        {R"("separator":9)", R"("separator":265)"},
                                                        {R"("std":2.5)", R"("std":-2.5)"}}) {
    const std::size_t at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from << json;
    std::string text = json;
    text.replace(at, from.size(), to);
    EXPECT_THAT([&] { CsvSchemaFromJson(text); },
                ThrowsMessage<Error>(AllOf(HasSubstr("CSV encoder: "), Not(HasSubstr("damaged")))))
        << to;
  }
}

struct BadSchema {
  std::string text;
  std::string message;  // behind the path
};

TEST(CsvSchema, MistakesNameLineKeyAndWhatIsValid) {
  const std::string head = "[data]\nlabel = \"y\"\n";
  const std::string sparse = "[[data.sparse]]\ncolumn = \"u\"\n";
  const std::vector<BadSchema> cases = {
      {"x = ", ":1:5: "},
      {"[model]\n", ": no [data] table"},
      {"[data]\n" + sparse, ":1: [data] needs the key 'label'"},
      {head + "lable = 1\n",
       ":3: unknown key 'lable' in [data]; valid keys are format, separator, quotes, header, columns, "
       "missing_values, label, sample_weight, dense, sparse"},
      {head + "train = \"a.csv\"\n" + sparse, ":3: unknown key 'train' in [data]; "},
      {head, "'sparse' in [data] is empty: at least one [[data.sparse]] is needed"},
      {head + "header = false\ncolumns = [\"y\", \"u\", \"y\"]\n" + sparse,
       ":4: 'columns' in [data] has 'y' twice"},
      {head + "format = \"criteo\"\n" + sparse, ":3: 'format' in [data] is not \"csv\""},
      {head + "separator = \",,\"\n" + sparse, ":3: 'separator' in [data] is ',,'; one character"},
      {head + "header = 1\n" + sparse, ":3: 'header' in [data] must be true or false"},
      {head + "header = false\n" + sparse, "'columns' in [data] is needed with header = false"},
      {head + "columns = [\"a\"]\n" + sparse, ":3: 'columns' in [data] belongs to header = false"},
      {head + "missing_values = \"x\"\n" + sparse, ":3: 'missing_values' in [data] must be a list of texts"},
      {head + "missing_values = [1]\n" + sparse, ":3: 'missing_values' in [data] must be a list of texts"},
      {head + "dense = 3\n" + sparse, ":3: 'dense' in [data] must be written as [[data.dense]]"},
      {"[data]\nlabel = \"y >\"\n" + sparse,
       ":2: 'label' in [data] is no label rule: 'y >' is neither COLUMN nor COLUMN OP NUMBER with an OP "
       "of ==, !=, <, <=, >, >="},
      {head + "[[data.dense]]\n" + sparse, ":3: [[data.dense]] needs the key 'column'"},
      {head + "[[data.dense]]\ncolumn = \"a\"\ntransfrom = \"log\"\n" + sparse,
       ":5: unknown key 'transfrom' in [[data.dense]]; valid keys are column, scale, transform, mean, "
       "std, missing"},
      {head + "[[data.dense]]\ncolumn = \"a\"\ntransform = \"log\"\n" + sparse,
       ":5: 'transform' in [[data.dense]] is 'log', none of none, log1p, standardize"},
      {head + "[[data.dense]]\ncolumn = \"a\"\nscale = \"1\"\n" + sparse,
       ":5: 'scale' in [[data.dense]] must be a number"},
      {head + "[[data.dense]]\ncolumn = \"a\"\nscale = inf\n" + sparse,
       ":5: 'scale' in [[data.dense]] must be finite"},
      {head + "[[data.dense]]\ncolumn = \"a\"\nmean = 1\n" + sparse,
       ":5: 'mean' in [[data.dense]] needs the other of mean and std too"},
      {head + "[[data.dense]]\ncolumn = \"a\"\nmean = 1\nstd = 1\n" + sparse,
       ":5: 'mean' in [[data.dense]] belongs to transform = \"standardize\""},
      {head + "[[data.dense]]\ncolumn = \"a\"\ntransform = \"standardize\"\nmean = 1\nstd = 0\n" + sparse,
       ":7: 'std' in [[data.dense]] must be above 0"},
      {head + "[[data.dense]]\ncolumn = \"a\"\nmissing = \"mean\"\n" + sparse,
       ":5: 'missing' in [[data.dense]] must be a number, or \"mean\" with transform = \"standardize\""},
      {head + sparse + "encoding = \"onehot\"\n",
       ":5: 'encoding' in [[data.sparse]] is 'onehot', none of vocabulary, hash, integer"},
      {head + sparse + "encoding = \"hash\"\n",
       "'rows' in [[data.sparse]] is needed with encoding hash or integer"},
      {head + sparse + "encoding = \"hash\"\nrows = 0\n",
       ":6: 'rows' in [[data.sparse]] is 0; at least 1 is needed"},
      {head + sparse + "encoding = \"hash\"\nrows = 2.5\n",
       ":6: 'rows' in [[data.sparse]] must be an integer"},
      {head + sparse + "rows = 5\n", ":5: 'rows' in [[data.sparse]] is the training file's matter"},
      {head + sparse + "max_length = 5\n", ":5: 'max_length' in [[data.sparse]] needs a separator"},
      {head + sparse + "encoding = \"integer\"\nrows = 5\nmissing = \"value\"\n",
       ":7: 'missing' in [[data.sparse]] cannot be \"value\""},
      {head + sparse + "encoding = \"hash\"\nrows = 5\nmin_count = 2\n",
       ":7: 'min_count' in [[data.sparse]] belongs to encoding = \"vocabulary\""},
      {head + sparse + sparse,
       ":6: 'column' in [[data.sparse]] 'u' names two features; give one another name"},
  };
  for (const BadSchema& bad : cases) {
    const TempFile file("schema.toml", bad.text);
    EXPECT_THAT([&] { LoadCsvSchema(file.path()); }, ThrowsMessage<Error>(HasSubstr(bad.message)))
        << bad.text;
    EXPECT_THAT([&] { LoadCsvSchema(file.path()); }, ThrowsMessage<Error>(HasSubstr("schema.toml:")))
        << bad.text;
  }
  EXPECT_THAT([] { LoadCsvSchema("/no/such.toml"); }, ThrowsMessage<Error>(HasSubstr("/no/such.toml")));
}

TEST(CsvSchema, LabelRules) {
  EXPECT_EQ(ParseLabelRule(" click ").column, "click");
  EXPECT_EQ(ParseLabelRule("a b<3").comparison, Comparison::kLess);
  EXPECT_EQ(ParseLabelRule("a b<3").column, "a b");
  EXPECT_EQ(ParseLabelRule("x<= -1e3").threshold, -1000.0);
  EXPECT_EQ(ParseLabelRule("x!=0").comparison, Comparison::kNotEqual);
  EXPECT_EQ(ParseLabelRule("x == 2").comparison, Comparison::kEqual);
  EXPECT_EQ(ParseLabelRule("x > 2").comparison, Comparison::kGreater);
  for (const char* bad : {"", " ", ">= 4", "x >=", "x = 4", "x >= four", "x ! 4", "x >= nan", "x >= 4 5"}) {
    EXPECT_THAT([&] { ParseLabelRule(bad); }, ThrowsMessage<Error>(HasSubstr("is neither COLUMN nor")))
        << bad;
  }
}

std::string DataDocument() {
  std::ifstream file(HOTROW_TEST_SOURCE_DIR "/../docs/DATA.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CsvSchema, TheDocumentsExampleIsValid) {
  const std::string text = DataDocument();
  const std::string fence = "```toml\n";
  const std::size_t begin = text.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = text.find("```", begin + fence.size());
  const CsvSchema schema = Load(text.substr(begin + fence.size(), end - begin - fence.size()));
  EXPECT_EQ(ToString(schema.label), "rating >= 4");
  EXPECT_EQ(schema.dense.size(), 2U);
  EXPECT_EQ(schema.sparse.size(), 4U);
}

// The valid keys as the error for an unknown one lists them.
std::vector<std::string> ValidKeys(const std::string& schema) {
  try {
    Load(schema);
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string before = "valid keys are ";
    std::istringstream list(message.substr(message.find(before) + before.size()));
    std::vector<std::string> keys;
    for (std::string key; std::getline(list >> std::ws, key, ',');) keys.push_back(key);
    return keys;
  }
  return {};
}

TEST(CsvSchema, TheDocumentNamesEveryKey) {
  const std::string text = DataDocument();
  const std::string data = "[data]\nlabel = \"y\"\n";
  for (const std::string& schema :
       {data + "x = 1\n", data + "[[data.dense]]\nx = 1\n", data + "[[data.sparse]]\nx = 1\n"}) {
    const std::vector<std::string> keys = ValidKeys(schema);
    EXPECT_GE(keys.size(), 6U) << schema;
    for (const std::string& key : keys) {
      const bool table = key == "dense" || key == "sparse";
      EXPECT_THAT(text, HasSubstr(table ? ": `[[data." + key + "]]`" : "`" + key + "`")) << schema;
    }
  }
}

TEST(CsvSchema, MutatedSchemasOnlyThrowError) {
  RandomSequence random(10, RandomStream::kShuffle);
  const TempFile file("schema.toml");
  for (int round = 0; round < 2000; ++round) {
    std::string text = kFull;
    for (std::int64_t n = 1 + random.NextBelow(3); n > 0; --n) {
      const auto at = static_cast<std::size_t>(random.NextBelow(static_cast<std::int64_t>(text.size())));
      if (random.NextBelow(2) == 0) {
        text[at] = static_cast<char>(random.NextBelow(256));
      } else {
        text.erase(at, static_cast<std::size_t>(random.NextBelow(12)));
      }
    }
    file.Write(text);
    try {
      LoadCsvSchema(file.path());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace hotrow
