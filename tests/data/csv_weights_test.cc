// Weights of samples and of a bag's values, tables that columns share, integers of any size, and values that
// a vocabulary does not have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "hotrow/base/error.h"
#include "hotrow/data/csv_encoder.h"
#include "hotrow/data/file_source.h"
#include "hotrow/data/open_source.h"
#include "hotrow/data/parse.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::shared_ptr<const RecordEncoder> Encoder(const std::string& sparse, const TempFile& train,
                                             const std::string& data = "") {
  const TempFile schema("schema.toml", "[data]\nlabel = \"y\"\n" + data + sparse);
  return std::make_shared<CsvEncoder>(FitCsvSchema(LoadCsvSchema(schema.path()), {train.path()}));
}

Batch ReadOne(const std::shared_ptr<const RecordEncoder>& encoder, const TempFile& file) {
  Batch batch;
  EXPECT_TRUE(OpenFileSource(encoder, {.paths = {file.path()}})->Next(100, batch));
  return batch;
}

constexpr const char* kItemAndHistory =
    "[[data.sparse]]\ncolumn = \"item\"\ntable = \"items\"\n"
    "[[data.sparse]]\ncolumn = \"history\"\nseparator = \"|\"\ntable = \"items\"\n";

TEST(SharedTable, ColumnsMeetInOneVocabulary) {
  const TempFile train("t.csv", "y,item,history\n1,a,b|c\n0,b,b\n1,c,\n");
  const auto encoder = Encoder(kItemAndHistory, train);
  const auto& features = encoder->description().features;
  EXPECT_EQ(features[0].table, "items");
  EXPECT_EQ(features[1].table, "items");
  EXPECT_EQ(features[0].rows, 4);
  EXPECT_EQ(features[1].rows, 4);
  // b three times, c twice, a once, over both columns
  for (const auto& used : {encoder, LoadRecordEncoder(encoder->Save())}) {
    const Batch batch = ReadOne(used, train);
    EXPECT_THAT(batch.sparse.feature(0).ids, ElementsAre(3, 1, 2));
    EXPECT_THAT(batch.sparse.feature(1).ids, ElementsAre(1, 2, 1));
  }
}

TEST(SharedTable, RareValuesAreCountedOverAllColumns) {
  const TempFile train("t.csv", "y,item,history\n1,a,b|c\n0,b,\n");
  const std::string rare = std::string("min_count = 2\n");
  const auto encoder =
      Encoder("[[data.sparse]]\ncolumn = \"item\"\ntable = \"items\"\n" + rare +
                  "[[data.sparse]]\ncolumn = \"history\"\nseparator = \"|\"\ntable = \"items\"\n" + rare,
              train);
  EXPECT_EQ(encoder->description().features[1].rows, 2);
  const Batch batch = ReadOne(encoder, train);
  EXPECT_THAT(batch.sparse.feature(0).ids, ElementsAre(0, 1));
  EXPECT_THAT(batch.sparse.feature(1).ids, ElementsAre(1, 0));
}

constexpr const char* kWeightedBag =
    "[[data.sparse]]\ncolumn = \"bag\"\nseparator = \"|\"\nmax_length = 3\nweights = \"w\"\n"
    "encoding = \"integer\"\nrows = 100\n"
    "[[data.sparse]]\ncolumn = \"one\"\nencoding = \"integer\"\nrows = 100\n";

TEST(WeightedBag, EveryValueHasItsWeight) {
  const TempFile file("t.csv",
                      "y,bag,w,one\n"
                      "1,5|6,0.5|-2,1\n"
                      "0,,,2\n"                // an empty bag
                      "0,7||8,1|oops|3,3\n"    // the empty value drops its weight, whatever it is
                      "1,1|2|3|4,1|2|3|x,4\n"  // both are cut alike
                      "1,|9,|4,5\n");
  const auto encoder = Encoder(kWeightedBag, file);
  EXPECT_TRUE(encoder->description().weighted_ids);
  EXPECT_FALSE(encoder->description().weighted_samples);
  const Batch batch = ReadOne(encoder, file);
  const FeatureBags bag = batch.sparse.feature(0);
  EXPECT_THAT(bag.ids, ElementsAre(5, 6, 7, 8, 1, 2, 3, 9));
  EXPECT_THAT(bag.weights, ElementsAre(0.5F, -2, 1, 3, 1, 2, 3, 4));
  EXPECT_THAT(bag.offsets, ElementsAre(0, 2, 2, 4, 7, 8));
  EXPECT_THAT(batch.sparse.feature(1).weights, ElementsAre(1, 1, 1, 1, 1)) << "the feature has none";
}

TEST(WeightedBag, ASingleValueMayHaveAWeight) {
  const TempFile file("t.csv", "y,u,w\n1,3,0.25\n0,4,7\n");
  const Batch batch = ReadOne(
      Encoder("[[data.sparse]]\ncolumn = \"u\"\nencoding = \"integer\"\nrows = 9\nweights = \"w\"\n", file),
      file);
  EXPECT_TRUE(batch.sparse.is_fixed());
  EXPECT_THAT(batch.sparse.weights(), ElementsAre(0.25F, 7));
}

TEST(WeightedBag, AMissingFieldTakesTheWeightOfTheEmptyTextOrOne) {
  const TempFile file("t.csv", "y,u,w\n1,,0.25\n0,,\n0,a,3\n");
  const std::string column = "[[data.sparse]]\ncolumn = \"u\"\nweights = \"w\"\n";
  EXPECT_THAT(ReadOne(Encoder(column, file), file).sparse.weights(), ElementsAre(0.25F, 1, 3));
  const Batch empty = ReadOne(Encoder(column + "missing = \"empty\"\n", file), file);
  EXPECT_THAT(empty.sparse.weights(), ElementsAre(3)) << "a value that is not there has no weight";
}

TEST(WeightedBag, WhatDoesNotFitIsAnErrorNamingLineAndColumn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"5|6,1", "3 (w): 1 weights for the 2 values of column 'bag'"},
      {"5|6,", "3 (w): 0 weights for the 2 values of column 'bag'"},
      {",1", "3 (w): 1 weights for the 0 values of column 'bag'"},
      {"5,1|2", "3 (w): 2 weights for the 1 values of column 'bag'"},
      {"5|6|,1|2", "3 (w): 2 weights for the 3 values of column 'bag'"},
      {"5|6,1|", "3 (w): '' is not a weight; weights are finite numbers"},
      {"5,nan", "3 (w): 'nan' is not a weight"},
      {"5,1e39", "3 (w): '1e39' is not a weight"},
      {"5,-inf", "3 (w): '-inf' is not a weight"},
      {"5,1x", "3 (w): '1x' is not a weight"},
      {"5|x,1|2", "2 (bag): 'x' is not an integer"}};
  for (const auto& [fields, message] : cases) {
    const TempFile file("t.csv", "y,bag,w,one\n1,1,1,1\n0," + fields + ",1\n");
    EXPECT_THAT([&] { ReadOne(Encoder(kWeightedBag, file), file); },
                ThrowsMessage<Error>(HasSubstr(file.path() + ":3: column " + message)))
        << fields;
  }
  const TempFile none("t.csv", "y,bag,one\n1,1,1\n");
  EXPECT_THAT([&] { ReadOne(Encoder(kWeightedBag, none), none); },
              ThrowsMessage<Error>(HasSubstr("no column 'w'")));
}

constexpr const char* kOneColumn = "[[data.sparse]]\ncolumn = \"u\"\n";
constexpr const char* kSampleWeight = "sample_weight = \"w\"\n";

TEST(SampleWeight, IsReadWithTheLabel) {
  const TempFile file("t.csv", "y,u,w\n1,a,0\n0,b,2.5\n1,a,1e-3\n");
  const auto encoder = Encoder(kOneColumn, file, kSampleWeight);
  for (const auto& used : {encoder, LoadRecordEncoder(encoder->Save())}) {
    for (const bool shuffle : {false, true}) {
      const auto source = OpenFileSource(used, {.paths = {file.path()}, .shuffle = shuffle});
      EXPECT_TRUE(source->description().weighted_samples);
      Batch batch;
      ASSERT_TRUE(source->Next(3, batch));
      ASSERT_EQ(batch.sample_weights.size(), 3U);
      if (!shuffle) {
        EXPECT_THAT(batch.sample_weights, ElementsAre(0, 2.5F, 1e-3F));
      }
    }
  }
}

TEST(SampleWeight, MayBeAbsentWhereLabelsMay) {
  const TempFile train("t.csv", "y,u,w\n1,a,1\n");
  const TempFile without("p.csv", "u\na\n");
  const auto encoder = Encoder(kOneColumn, train, kSampleWeight);
  EXPECT_THAT([&] { ReadOne(encoder, without); }, ThrowsMessage<Error>(HasSubstr("no column 'y'")));
  const auto source = OpenFileSource(encoder, {.paths = {without.path()}, .need_labels = false});
  EXPECT_FALSE(source->description().weighted_samples);
  Batch batch;
  ASSERT_TRUE(source->Next(3, batch));
  EXPECT_THAT(batch.sample_weights, IsEmpty());
  const TempFile unweighted("q.csv", "y,u\n1,a\n");
  EXPECT_THAT([&] { ReadOne(encoder, unweighted); }, ThrowsMessage<Error>(HasSubstr("no column 'w'")));
  const FileSourceOptions both{.paths = {without.path(), train.path()}, .need_labels = false};
  EXPECT_THAT(
      [&] {
        const auto mixed = OpenFileSource(encoder, both);
        while (mixed->Next(1, batch)) {
        }
      },
      ThrowsMessage<Error>(HasSubstr("unlike " + without.path())));
}

TEST(SampleWeight, WhatIsNoWeightIsAnErrorNamingLineAndColumn) {
  for (const char* bad : {"-1", "nan", "inf", "1e39", "", "x", "-1e-30", "-1e-60"}) {
    const TempFile file("t.csv", std::string("y,u,w\n1,a,1\n0,b,") + bad + "\n");
    EXPECT_THAT([&] { ReadOne(Encoder(kOneColumn, file, kSampleWeight), file); },
                ThrowsMessage<Error>(file.path() + ":3: column 3 (w): '" + bad +
                                     "' is not a sample's weight; weights are numbers of at least 0"));
  }
}

TEST(Integers, BeyondSixtyFourBitsAreOutOfRangeAndNotMalformed) {
  const std::string column = "[[data.sparse]]\ncolumn = \"n\"\nencoding = \"integer\"\nrows = 1000\n";
  // The remainders by schoolbook division; of negative numbers the one in [0, rows).
  const std::vector<std::pair<std::string, std::int64_t>> cases = {{"9223372036854775808", 808},
                                                                   {"622188820004259028012", 12},
                                                                   {"+99999999999999999999999999999", 999},
                                                                   {"-9223372036854775809", 191},
                                                                   {"-622188820004259028012", 988},
                                                                   {" -10000000000000000000000 ", 0},
                                                                   {"-1", 999},
                                                                   {"1000", 0},
                                                                   {"9223372036854775807", 807}};
  for (const auto& [text, row] : cases) {
    const TempFile file("t.csv", "y,n\n1," + text + "\n");
    const auto encoder = Encoder(column, file);
    const std::vector<std::int64_t> rows = {1000};
    for (const BadIds mode : {BadIds::kSkip, BadIds::kWrap}) {
      Batch batch = ReadOne(encoder, file);
      EXPECT_EQ(CheckIds(batch.sparse, rows, mode, 0), 1) << text;
      EXPECT_EQ(batch.sparse.values()[0], mode == BadIds::kSkip ? -1 : row) << text;
    }
    const auto refusing = OpenFileSource(encoder, {.paths = {file.path()}, .refuse_bad_ids = true});
    Batch batch;
    EXPECT_THAT(
        [&] { refusing->Next(1, batch); },
        ThrowsMessage<Error>(file.path() + ":2: column 2 (n): id " +
                             text.substr(text[0] == ' ', text.find_last_not_of(' ') + 1 - (text[0] == ' ')) +
                             " is out of range; valid ids are 0 to 999"));
  }
  for (const char* bad :
       {"9223372036854775808x", "--9223372036854775808", "99999999999999999999.0", "", "-", "+"}) {
    const TempFile file("t.csv", std::string("y,n\n1,") + bad + "\n");
    EXPECT_THROW(ReadOne(Encoder(column, file), file), Error) << bad;
  }
}

// rows beyond 32 bits: ten times a remainder must not overflow either.
TEST(Integers, WrapExactlyWhateverTheRows) {
  EXPECT_EQ(ParseIntegerModulo("622188820004259028012", 9'000'000'000'000'000'007),
            1'188'820'004'259'027'529);
  EXPECT_EQ(ParseIntegerModulo("-1", 9'000'000'000'000'000'007), 9'000'000'000'000'000'006);
  EXPECT_EQ(ParseIntegerModulo("123456789012345678901234567890", 1), 0);
  EXPECT_FALSE(ParseIntegerModulo("12a", 7));
  EXPECT_FALSE(ParseIntegerModulo("", 7));
}

TEST(Unknown, ValuesAreCountedPerFeatureAndEpoch) {
  const TempFile train("t.csv", "y,item,history\n1,3,b|c\n0,4,b\n");
  const TempFile other("o.csv", "y,item,history\n1,3.0,b|x\n0,4.0,\n1,4,z\n");
  const auto encoder = Encoder(
      "[[data.sparse]]\ncolumn = \"item\"\n[[data.sparse]]\ncolumn = \"history\"\nseparator = \"|\"\n"
      "[[data.sparse]]\ncolumn = \"item\"\nname = \"hashed\"\nencoding = \"hash\"\nrows = 5\n",
      train);
  for (const bool shuffle : {false, true}) {
    const auto source = OpenFileSource(encoder, {.paths = {other.path()}, .shuffle = shuffle});
    for (int epoch = 0; epoch < 2; ++epoch) {
      source->StartEpoch(epoch);
      Batch batch;
      while (source->Next(2, batch)) {
      }
      const std::vector<UnknownValues> unknown = source->Unknown();
      ASSERT_EQ(unknown.size(), 2U) << "a hash knows every value";
      EXPECT_EQ(unknown[0].feature, "item");
      EXPECT_EQ(unknown[0].values, 3);
      EXPECT_EQ(unknown[0].unknown, 2);
      EXPECT_EQ(unknown[1].feature, "history");
      EXPECT_EQ(unknown[1].values, 3);
      EXPECT_EQ(unknown[1].unknown, 2);
    }
  }
  Batch batch;
  const auto known = OpenFileSource(encoder, {.paths = {train.path()}});
  ASSERT_TRUE(known->Next(9, batch));
  EXPECT_EQ(UnknownWarning(known->Unknown()), "");
}

TEST(Unknown, AWarningNamesTheFeaturesWithMany) {
  const std::vector<UnknownValues> features = {
      {"none", 0, 0}, {"few", 1000, 199}, {"many", 1000, 200}, {"all", 3, 3}};
  EXPECT_EQ(
      UnknownWarning(features),
      "warning: feature 'many': 20.0% of its 1000 values are not in the vocabulary that training made, "
      "and share row 0\n"
      "warning: feature 'all': 100.0% of its 3 values are not in the vocabulary that training made, and "
      "share row 0");
  EXPECT_EQ(UnknownJson(std::span(features).subspan(2, 1)).dump(),
            R"([{"feature":"many","values":1000,"unknown":200,"share":0.2}])");
}

}  // namespace
}  // namespace hotrow
