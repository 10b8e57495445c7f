#include "hotrow/data/csv_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/data/open_source.h"
#include "tests/data/held_file.h"
#include "tests/data/shared_data.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* kSchema = R"([data]
label = "rating >= 4"
missing_values = ["", "NA"]
[[data.dense]]
column = "age"
transform = "standardize"
missing = "mean"
[[data.dense]]
column = "price"
scale = 2
transform = "log1p"
[[data.sparse]]
column = "user"
[[data.sparse]]
column = "genres"
separator = "|"
min_count = 2
max_length = 2
[[data.sparse]]
column = "item"
encoding = "hash"
rows = 10
[[data.sparse]]
column = "n"
encoding = "integer"
rows = 5
)";

constexpr const char* kTrain =
    "age,genres,item,n,price,rating,user\n"
    "10,a|b,\"x, y\",0,1,5,ann\n"
    "20,a|b|c,z,4,0.5,3,bob\n"
    "NA,,z,9,0,4,bob\n"
    "30,c||b,z,-1,0,1,\n";

struct Files {
  TempFile schema{"schema.toml", kSchema};
  TempFile train{"train.csv", kTrain};

  DataSpec Spec() const {
    return {.format = DataFormat::kCsv, .paths = {train.path()}, .schema = LoadCsvSchema(schema.path())};
  }
  Batch Read() const {
    const DataSpec spec = Spec();
    const auto source = OpenSource(spec, MakeEncoder(spec));
    Batch batch;
    EXPECT_TRUE(source->Next(100, batch));
    return batch;
  }
};

std::vector<std::vector<std::int64_t>> Bags(const Batch& batch, std::int64_t f) {
  const FeatureBags bags = batch.sparse.feature(f);
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t s = 0; s < batch.size; ++s) {
    out.emplace_back(bags.ids.begin() + bags.begin(s), bags.ids.begin() + bags.end(s));
  }
  return out;
}

TEST(CsvEncoder, EncodesByTheSchema) {
  const Files files;
  const Batch batch = files.Read();
  ASSERT_EQ(batch.size, 4);
  EXPECT_THAT(batch.labels, ElementsAre(1, 0, 1, 0));
  const auto std = static_cast<float>(std::sqrt(200.0 / 3.0));
  EXPECT_FLOAT_EQ(batch.dense[0], -10.0F / std);
  EXPECT_FLOAT_EQ(batch.dense[2], 0.0F);
  EXPECT_EQ(batch.dense[4], 0.0F);  // missing: the mean
  EXPECT_FLOAT_EQ(batch.dense[6], 10.0F / std);
  EXPECT_FLOAT_EQ(batch.dense[1], std::log(3.0F));
  EXPECT_FLOAT_EQ(batch.dense[3], std::log(2.0F));
  EXPECT_THAT(batch.sparse.keys(), ElementsAre("user", "genres", "item", "n"));
  // bob 2, then "" and ann 1 each, ties by text
  EXPECT_THAT(Bags(batch, 0), ElementsAre(ElementsAre(3), ElementsAre(1), ElementsAre(1), ElementsAre(2)));
  // counted are the first two of each bag: a 2, b 3 (the last bag's is its second value), c 1: too rare
  EXPECT_THAT(Bags(batch, 1),
              ElementsAre(ElementsAre(2, 1), ElementsAre(2, 1), ElementsAre(), ElementsAre(0, 1)));
  EXPECT_THAT(Bags(batch, 2), ElementsAre(ElementsAre(HashRow("x, y", 10)), ElementsAre(HashRow("z", 10)),
                                          ElementsAre(HashRow("z", 10)), ElementsAre(HashRow("z", 10))));
  // integers pass as they are: the bounds check decides
  EXPECT_THAT(Bags(batch, 3), ElementsAre(ElementsAre(0), ElementsAre(4), ElementsAre(9), ElementsAre(-1)));
}

TEST(CsvEncoder, DescribesItsFeatures) {
  const Files files;
  const auto encoder = MakeEncoder(files.Spec());
  const auto& features = encoder->description().features;
  EXPECT_EQ(encoder->description().num_dense, 2);
  EXPECT_EQ(features[0].rows, 4);
  EXPECT_EQ(features[0].fixed_size, 1);
  EXPECT_EQ(features[1].rows, 3);
  EXPECT_EQ(features[1].fixed_size, 0);
  EXPECT_EQ(features[2].rows, 10);
}

TEST(CsvEncoder, EvaluationUsesWhatTrainingFitted) {
  const Files files;
  const auto encoder = MakeEncoder(files.Spec());
  const TempFile eval("eval.csv",
                      "user,rating,n,age,item,genres,price\nnew,1,0,20,q,b|new|a,0\nann,5,0,20,q,,0\n");
  DataSpec spec = files.Spec();
  spec.paths = {eval.path()};
  // Once with the encoder itself, once through its JSON, as a saved model has it.
  for (const auto& used : {encoder, LoadRecordEncoder(encoder->Save())}) {
    const auto source = OpenSource(spec, used);
    Batch batch;
    ASSERT_TRUE(source->Next(10, batch));
    EXPECT_THAT(Bags(batch, 0), ElementsAre(ElementsAre(0), ElementsAre(3)));
    EXPECT_THAT(Bags(batch, 1), ElementsAre(ElementsAre(1, 0), ElementsAre()));
    EXPECT_EQ(batch.dense[0], 0.0F);
    EXPECT_THAT(batch.labels, ElementsAre(0, 1));
  }
}

TEST(CsvEncoder, LabelsMayBeAbsentForPrediction) {
  const Files files;
  const auto encoder = MakeEncoder(files.Spec());
  const TempFile plain("plain.csv", "user,n,age,item,genres,price\nann,0,20,q,b,0\n");
  DataSpec spec = files.Spec();
  spec.paths = {plain.path()};
  EXPECT_THAT(
      [&] { OpenSource(spec, encoder); },
      ThrowsMessage<Error>(plain.path() +
                           ":1: no column 'rating'; the columns are user, n, age, item, genres, price"));
  spec.need_labels = false;
  const auto source = OpenSource(spec, encoder);
  EXPECT_FALSE(source->description().has_labels);
  Batch batch;
  ASSERT_TRUE(source->Next(10, batch));
  EXPECT_TRUE(batch.labels.empty());
  EXPECT_EQ(batch.size, 1);
}

TEST(CsvEncoder, ShuffledAndStreamedHaveTheSameSamples) {
  const Files files;
  DataSpec spec = files.Spec();
  const auto encoder = MakeEncoder(spec);
  const Batch streamed = files.Read();
  spec.shuffle = true;
  const auto source = OpenSource(spec, encoder);
  EXPECT_EQ(source->description().samples, 4);
  Batch batch;
  ASSERT_TRUE(source->Next(10, batch));
  auto sorted = [](std::vector<std::vector<std::int64_t>> bags) {
    std::sort(bags.begin(), bags.end());
    return bags;
  };
  for (std::int64_t f = 0; f < 4; ++f) EXPECT_EQ(sorted(Bags(batch, f)), sorted(Bags(streamed, f)));
}

TEST(CsvEncoder, MalformedFilesNameLineAndColumn) {
  const Files files;
  const std::string header = "age,genres,item,n,price,rating,user\n";
  const auto expect_error = [&](const std::string& text, const std::string& message) {
    files.train.Write(text);
    EXPECT_THAT([&] { files.Read(); }, ThrowsMessage<Error>(HasSubstr(files.train.path() + message))) << text;
  };
  expect_error("", ": the file is empty");
  expect_error(header, ": the file has no samples");
  expect_error("age,genres,item,n,price,rating,age\n", ":1: column 7 (age): column 1 has this name already");
  expect_error("age,user\n1,2\n", ":1: no column 'price'; the columns are age, user");
  expect_error(header + "1,a,i,0,1,5\n", ":2: 6 fields; the file has 7 columns");
  expect_error(header + "1,a,i,0,1,5,u,\n", ":2: 8 fields; the file has 7 columns");
  expect_error(header + "x,a,i,0,1,5,u\n", ":2: column 1 (age): 'x' is not a number");
  expect_error(header + "inf,a,i,0,1,5,u\n", ":2: column 1 (age): 'inf' is not finite");
  expect_error(header + "1e400,a,i,0,1,5,u\n", ":2: column 1 (age): '1e400' is not finite");
  expect_error(header + "\"a\nb\x1b\",a,i,0,1,5,u\n", ":2: column 1 (age): 'a\\nb\\x1b' is not a number");
  expect_error(header + "1,a,i,0,nan,5,u\n", ":2: column 5 (price): 'nan' is not finite");
  expect_error(header + "1,a,i,0,,5,u\n",
               ":2: column 5 (price): the field is missing; `missing = NUMBER` in the schema allows it");
  expect_error(header + "1,a,i,0,-3,5,u\n",
               ":2: column 5 (price): '-3' is not finite after scale and transform");
  expect_error(header + "1,a,i,0,1,5,u\n1,a,i,0,1,good,u\n",
               ":3: column 6 (rating): 'good' is not a number, which the label needs");
  expect_error(header + "1,a,i,1.5,1,5,u\n", ":2: column 4 (n): '1.5' is not an integer");
  expect_error(header + "1,a,i,,1,5,u\n", ":2: column 4 (n): the field is missing");
  expect_error(header + "1,\"a,i,,1,5,u\n", ":2: column 2: a quoted field that begins here is not closed");
}

TEST(CsvEncoder, IdsOutsideTheirTableAreRefusedAtTheirRecordWhereAsked) {
  const TempFile schema("s.toml",
                        "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"n\"\nencoding = \"integer\"\n"
                        "rows = 5\nseparator = \"|\"\n");
  const TempFile data("d.csv", "y,n\n1,0|4\n0,3|5\n");
  DataSpec spec{.format = DataFormat::kCsv, .paths = {data.path()}, .schema = LoadCsvSchema(schema.path())};
  const auto encoder = MakeEncoder(spec);
  Batch batch;
  ASSERT_TRUE(OpenSource(spec, encoder)->Next(10, batch));
  EXPECT_THAT(batch.sparse.values(), ElementsAre(0, 4, 3, 5)) << "passed on for --bad-ids to judge";
  spec.refuse_bad_ids = true;
  const auto source = OpenSource(spec, encoder);
  EXPECT_THAT(
      [&] { source->Next(10, batch); },
      ThrowsMessage<Error>(data.path() + ":3: column 2 (n): id 5 is out of range; valid ids are 0 to 4"));
}

TEST(CsvEncoder, MissingFilesAndSchemas) {
  DataSpec spec{.format = DataFormat::kCsv, .paths = {"/no/such.csv"}, .schema = {}};
  EXPECT_THAT([&] { MakeEncoder(spec); }, ThrowsMessage<Error>(HasSubstr("csv needs a schema")));
  const Files files;
  spec.schema = LoadCsvSchema(files.schema.path());
  EXPECT_THAT([&] { MakeEncoder(spec); },
              ThrowsMessage<Error>("/no/such.csv: cannot open: No such file or directory"));
  spec.paths = {"/tmp"};
  EXPECT_THAT([&] { MakeEncoder(spec); }, ThrowsMessage<Error>("/tmp: is a directory; a file is needed"));
  EXPECT_THAT([] { ParseDataFormat("parquet"); },
              ThrowsMessage<Error>("data format: 'parquet' is none of synthetic, criteo, csv"));
}

TEST(CsvEncoder, PlainLabelsMustBeZeroOrOne) {
  const TempFile schema(
      "s.toml", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\nencoding = \"hash\"\nrows = 3\n");
  const TempFile data("d.csv", "u,y\r\na,1\r\nb,0.0\r\nc,2\r\n");
  const DataSpec spec{
      .format = DataFormat::kCsv, .paths = {data.path()}, .schema = LoadCsvSchema(schema.path())};
  const auto source = OpenSource(spec, MakeEncoder(spec));
  Batch batch;
  ASSERT_TRUE(source->Next(2, batch));
  EXPECT_THAT(batch.labels, ElementsAre(1, 0));
  EXPECT_TRUE(batch.sparse.is_fixed());
  EXPECT_TRUE(batch.dense.empty());
  EXPECT_THAT([&] { source->Next(2, batch); },
              ThrowsMessage<Error>(data.path() + ":4: column 2 (y): '2' is not a label; labels are 0 or 1"));
}

TEST(CsvEncoder, EveryComparison) {
  const TempFile data("d.csv", "u,r\na,3\na,4\na,5\n");
  const std::vector<std::pair<std::string, std::vector<float>>> cases = {
      {"r == 4", {0, 1, 0}}, {"r != 4", {1, 0, 1}}, {"r < 4", {1, 0, 0}},
      {"r <= 4", {1, 1, 0}}, {"r > 4", {0, 0, 1}},  {"r >= 4", {0, 1, 1}}};
  for (const auto& [rule, labels] : cases) {
    const TempFile schema("s.toml", "[data]\nlabel = \"" + rule + "\"\n[[data.sparse]]\ncolumn = \"u\"\n");
    const DataSpec spec{
        .format = DataFormat::kCsv, .paths = {data.path()}, .schema = LoadCsvSchema(schema.path())};
    const auto encoder = MakeEncoder(spec);
    const auto source = OpenSource(spec, LoadRecordEncoder(encoder->Save()));
    Batch batch;
    ASSERT_TRUE(source->Next(3, batch));
    EXPECT_EQ(batch.labels, labels) << rule;
  }
}

TEST(LoadRecordEncoder, RefusesWhatIsNoEncoder) {
  for (const char* bad :
       {"", "[]", "{}", R"({"format":"npy"})", R"({"format":"criteo","version":9,"rows":[]})",
        R"({"format":"criteo","version":1,"rows":[1,2]})"}) {
    EXPECT_THROW(LoadRecordEncoder({.json = bad}), Error) << bad;
  }
  const Files files;
  const std::string unfitted = ToJson(LoadCsvSchema(files.schema.path()));
  EXPECT_THAT([&] { LoadRecordEncoder({.json = unfitted}); },
              ThrowsMessage<Error>("encoder: feature 'user' has no vocabulary"));
  DataSpec criteo{.format = DataFormat::kCriteo, .rows = std::vector<std::int64_t>(26, 12)};
  const auto read = LoadRecordEncoder(MakeEncoder(criteo)->Save());
  EXPECT_EQ(read->description().features[25].rows, 12);
}

TEST(CsvEncoder, MutatedFilesOnlyThrowError) {
  const Files files;
  RandomSequence random(9, RandomStream::kShuffle);
  for (int round = 0; round < 3000; ++round) {
    std::string text = kTrain;
    for (std::int64_t n = 1 + random.NextBelow(4); n > 0; --n) {
      const auto at = static_cast<std::size_t>(random.NextBelow(static_cast<std::int64_t>(text.size())));
      switch (random.NextBelow(3)) {
        case 0:
          text[at] = static_cast<char>(random.NextBelow(256));
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(random.NextBelow(10)));
          break;
        default:
          text.insert(at, 1, "\",|\n\r-1e"[random.NextBelow(8)]);
          break;
      }
    }
    files.train.Write(text);
    try {
      const Batch batch = files.Read();
      for (const float x : batch.dense) EXPECT_TRUE(std::isfinite(x));
    } catch (const Error&) {
    }
  }
}

// They are read again to be trained on, and would hold what the vocabularies do not.
TEST(CsvFit, AFileThatChangesBeforeTheLastIsReadIsAMistake) {
  const TempFile schema("schema", "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n");
  const TempFile a("a", "y,u\n1,p\n");
  const TempFile b("b", "y,u\n0,q\n");
  const CsvSchema open = LoadCsvSchema(schema.path());
  const std::vector<std::string> paths = {a.path(), b.path()};
  EXPECT_EQ(FitCsvSchema(open, paths).sparse[0].vocabulary.size(), 2U);
  const HeldFile held(b.path(), [&] { a.Write("y,u\n1,r\n0,r\n"); });
  if (!held.held()) GTEST_SKIP() << "no leases on files here";
  EXPECT_THAT([&] { FitCsvSchema(open, paths); },
              ThrowsMessage<Error>(a.path() + ": changed since it was first read"));
}

TEST(CsvFit, APipeIsRefusedOnlyWhereThereIsSomethingToLearn) {
  const std::string head = "[data]\nlabel = \"y\"\n[[data.sparse]]\ncolumn = \"u\"\n";
  const TempFile learns("learns", head);
  const TempFile knows("knows", head + "encoding = \"hash\"\nrows = 5\n");
  const Pipe pipe("pipe", "");
  const std::vector<std::string> paths = {pipe.path()};
  EXPECT_THAT(
      [&] { FitCsvSchema(LoadCsvSchema(learns.path()), paths); },
      ThrowsMessage<Error>(HasSubstr("is a pipe, which is read once, and the schema's vocabularies")));
  EXPECT_EQ(FitCsvSchema(LoadCsvSchema(knows.path()), paths).sparse[0].rows, 5);
}

struct PublicFile {
  const char* schema;
  const char* train;
  std::int64_t samples;
  double clicks;
};

class PublicData : public ::testing::TestWithParam<PublicFile> {};

TEST_P(PublicData, LoadsByTheShippedSchema) {
  const std::string path = SharedData(GetParam().train);
  if (path.empty()) GTEST_SKIP() << GetParam().train << " is not here";
  const DataSpec spec{.format = DataFormat::kCsv,
                      .paths = {path},
                      .schema = LoadCsvSchema(ExamplePath(GetParam().schema)),
                      .shuffle = true};
  const auto encoder = MakeEncoder(spec);
  const auto source = OpenSource(spec, encoder);
  EXPECT_EQ(source->description().samples, GetParam().samples);
  std::vector<std::int64_t> rows;
  for (const SparseFeature& feature : encoder->description().features) rows.push_back(feature.rows);
  Batch batch;
  double clicks = 0.0;
  while (source->Next(1000, batch)) {
    EXPECT_EQ(CheckIds(batch.sparse, rows, BadIds::kError, batch.first_sample), 0);
    for (const float label : batch.labels) clicks += label;
  }
  EXPECT_EQ(clicks, GetParam().clicks);
}

INSTANTIATE_TEST_SUITE_P(Examples, PublicData,
                         ::testing::Values(PublicFile{"movielens_100k.toml", "movielens_100k/train.csv",
                                                      80095, 44358},
                                           PublicFile{"avazu.toml", "avazu_100.csv", 100, 20},
                                           PublicFile{"taobao.toml", "taobao_ads_100.csv", 100, 4}));

TEST(PublicCriteo, BothCopiesLoad) {
  for (const auto& [name, samples] :
       {std::pair{"criteo_200.csv", 200}, std::pair{"criteo_kaggle_2k.csv", 1999}}) {
    const std::string path = SharedData(name);
    if (path.empty()) GTEST_SKIP() << name << " is not here";
    DataSpec spec{
        .format = DataFormat::kCriteo, .paths = {path}, .rows = std::vector<std::int64_t>(26, 1000)};
    const auto source = OpenSource(spec, MakeEncoder(spec));
    Batch batch;
    ASSERT_TRUE(source->Next(10'000, batch));
    EXPECT_EQ(batch.size, samples);
    for (const float x : batch.dense) EXPECT_TRUE(std::isfinite(x));
  }
}

}  // namespace
}  // namespace hotrow
