#include "hotrow/data/planted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "hotrow/base/error.h"
#include "hotrow/data/data_info.h"
#include "hotrow/data/open_source.h"
#include "hotrow/data/presets.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

PlantedModel Model(std::uint64_t seed) { return PlantedModel({.seed = seed, .rows = {}}); }

TEST(PlantedModel, CeilingIsNearEightTenthsForAnySeed) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const TempFile file("f.tsv");
    const PlantedReport report = WritePlanted(Model(seed), 0, 20'000, PlantedLayout::kCriteo, file.path());
    EXPECT_EQ(report.samples, 20'000);
    EXPECT_NEAR(report.expected_best_auc, 0.81, 0.015);
    EXPECT_NEAR(report.best_auc, report.expected_best_auc, 0.012);  // 3 standard errors
    EXPECT_NEAR(report.label_rate, 0.31, 0.03);
    EXPECT_GT(report.best_log_loss, 0.4);
    EXPECT_LT(report.best_log_loss, 0.55);
  }
}

TEST(PlantedModel, IdsStayInTheirTables) {
  std::vector<std::int64_t> rows(26, 1);
  rows[0] = 2;
  rows[4] = 3000;
  const PlantedModel model({.seed = 3, .rows = rows});
  for (std::int64_t i = 0; i < 1000; ++i) {
    const PlantedSample sample = model.Sample(i);
    for (std::size_t f = 0; f < kCriteoSparse; ++f) {
      EXPECT_TRUE(sample.ids[f] >= 0 && sample.ids[f] < rows[f]);
      EXPECT_TRUE(!sample.blank_id[f] || sample.ids[f] == 0);
    }
    EXPECT_GE(sample.ints[1], -2);
    EXPECT_TRUE(std::isfinite(sample.log_odds));
  }
}

TEST(PlantedModel, FilesRoundTripThroughTheReader) {
  const PlantedModel model = Model(1);
  for (const PlantedLayout layout : {PlantedLayout::kCriteo, PlantedLayout::kCsv}) {
    const TempFile file("f");
    WritePlanted(model, 500, 300, layout, file.path());
    DataSpec spec{
        .format = DataFormat::kCriteo, .paths = {file.path()}, .rows = CardinalityPreset("tiny", 1000)};
    const auto source = OpenSource(spec, MakeEncoder(spec));
    Batch batch;
    ASSERT_TRUE(source->Next(1000, batch));
    ASSERT_EQ(batch.size, 300);
    for (std::int64_t i = 0; i < 300; ++i) {
      const PlantedSample sample = model.Sample(500 + i);
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(batch.labels[at], sample.label);
      for (std::size_t f = 0; f < kCriteoSparse; ++f)
        EXPECT_EQ(batch.sparse.values()[f * 300 + at], sample.ids[f]);
      for (std::size_t c = 0; c < kCriteoDense; ++c) {
        const double x = sample.missing_int[c] ? 0.0 : static_cast<double>(sample.ints[c]);
        EXPECT_EQ(batch.dense[at * kCriteoDense + c], CriteoEncoder::DenseTransform(x));
      }
    }
  }
}

TEST(PlantedModel, SplitsContinueOneAnotherAndRepeat) {
  const TempFile whole("whole");
  const TempFile part("part");
  WritePlanted(Model(2), 0, 100, PlantedLayout::kCriteo, whole.path());
  WritePlanted(Model(2), 60, 40, PlantedLayout::kCriteo, part.path());
  const std::string text = whole.Read();
  EXPECT_TRUE(text.ends_with(part.Read()));
  WritePlanted(Model(3), 0, 100, PlantedLayout::kCriteo, part.path());
  EXPECT_NE(text, part.Read());
}

TEST(PlantedModel, NothingHalfWritten) {
  EXPECT_THAT([] { WritePlanted(Model(0), 0, 10, PlantedLayout::kCriteo, "/no/such/dir/f.tsv"); },
              ThrowsMessage<Error>("/no/such/dir/f.tsv: cannot write: No such file or directory"));
  const std::string name = "planted_nothing_half_written." + std::to_string(getpid());
  const std::string directory = ::testing::TempDir() + name;
  std::filesystem::create_directory(directory);
  EXPECT_THROW(WritePlanted(Model(0), 0, 10, PlantedLayout::kCriteo, directory),
               Error);  // a directory's name
  EXPECT_THAT([&] { WritePlanted(Model(0), 0, 0, PlantedLayout::kCriteo, directory + "/f"); },
              ThrowsMessage<Error>("planted data: 0 samples; at least 1 is needed"));
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
  for (const auto& entry : std::filesystem::directory_iterator(::testing::TempDir())) {
    EXPECT_THAT(entry.path().string(), ::testing::Not(HasSubstr(name)));
  }
}

TEST(PlantedModel, ErrorsSayWhatIsValid) {
  EXPECT_THAT([] { PlantedModel({.seed = 0, .rows = {5}}); },
              ThrowsMessage<Error>("planted data: 1 features' rows; 26 are needed"));
  EXPECT_THAT([] { PlantedModel({.seed = 0, .rows = std::vector<std::int64_t>(26, 0)}); },
              ThrowsMessage<Error>("planted data: feature C1 has 0 rows; at least 1 is needed"));
  EXPECT_THAT([] { ParsePlantedLayout("npy"); },
              ThrowsMessage<Error>("format: 'npy' is neither criteo nor csv"));
}

TEST(DataInfo, CountsWhatIsThere) {
  const TempFile schema(
      "s.toml",
      "[data]\nlabel = \"y\"\n[[data.dense]]\ncolumn = \"x\"\n[[data.sparse]]\ncolumn = \"u\"\n"
      "encoding = \"integer\"\nrows = 4\nseparator = \" \"\n");
  const TempFile data("d.csv", "u,x,y\n3 3 1,2,1\n,-1,0\n9 0,5,1\n-2,2,1\n");
  const DataSpec spec{
      .format = DataFormat::kCsv, .paths = {data.path()}, .schema = LoadCsvSchema(schema.path())};
  const DataInfo info = InspectData(*OpenSource(spec, MakeEncoder(spec)));
  EXPECT_EQ(info.samples, 4);
  EXPECT_EQ(info.label_rate, 0.75);
  EXPECT_EQ(info.dense[0].min, -1.0);
  EXPECT_EQ(info.dense[0].mean, 2.0);
  EXPECT_EQ(info.dense[0].max, 5.0);
  const FeatureInfo& u = info.features[0];
  EXPECT_EQ(u.rows, 4);
  EXPECT_EQ(u.ids, 6);
  EXPECT_EQ(u.distinct_ids, 3);
  EXPECT_EQ(u.out_of_range, 2);
  EXPECT_EQ(u.min_bag, 0);
  EXPECT_EQ(u.max_bag, 3);
}

}  // namespace
}  // namespace hotrow
