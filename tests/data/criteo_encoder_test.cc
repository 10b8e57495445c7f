#include "hotrow/data/criteo_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "hotrow/data/file_source.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Line {
  std::string label = "1";
  std::vector<std::string> ints = std::vector<std::string>(13, "4");
  std::vector<std::string> hexes = std::vector<std::string>(26, "0000002a");
  std::string id;

  std::string Text(char separator) const {
    std::vector<std::string> fields;
    if (!id.empty()) fields.push_back(id);
    if (label != "none") fields.push_back(label);
    fields.insert(fields.end(), ints.begin(), ints.end());
    fields.insert(fields.end(), hexes.begin(), hexes.end());
    std::string text;
    for (std::size_t i = 0; i < fields.size(); ++i)
      text += (i > 0 ? std::string(1, separator) : "") + fields[i];
    return text;
  }
};

std::shared_ptr<CriteoEncoder> Encoder() {
  std::vector<std::int64_t> rows(26, 1000);
  rows[1] = 40;
  return std::make_shared<CriteoEncoder>(rows);
}

Batch ReadBatch(const std::string& path, bool need_labels = true) {
  const auto source = OpenFileSource(Encoder(), {.paths = {path}, .need_labels = need_labels});
  Batch batch;
  EXPECT_TRUE(source->Next(1000, batch));
  return batch;
}

TEST(CriteoEncoder, EncodesATsvLine) {
  Line line;
  line.ints[0] = "";
  line.ints[1] = "-3";
  line.ints[2] = "-2";
  line.ints[3] = "260.0";
  line.hexes[2] = "";
  line.hexes[3] = "ffffffff";
  const TempFile file("f.tsv", line.Text('\t') + "\r\n");
  const Batch batch = ReadBatch(file.path());
  ASSERT_EQ(batch.size, 1);
  EXPECT_EQ(batch.labels[0], 1.0F);
  EXPECT_FLOAT_EQ(batch.dense[0], std::log(3.0F));
  EXPECT_EQ(batch.dense[1], 0.0F);  // not log(0)
  EXPECT_EQ(batch.dense[2], 0.0F);
  EXPECT_FLOAT_EQ(batch.dense[3], std::log(263.0F));
  const auto ids = batch.sparse.values();
  EXPECT_EQ(ids[0], 42);
  EXPECT_EQ(ids[1], 2);  // 42 modulo 40 rows
  EXPECT_EQ(ids[2], 0);
  EXPECT_EQ(ids[3], 0xffffffffLL % 1000);
  EXPECT_TRUE(batch.sparse.is_fixed());
  EXPECT_EQ(batch.sparse.keys()[25], "cat_25");
}

std::string Header(bool id, bool label) {
  std::string text = std::string(id ? "Id," : "") + (label ? "Label," : "");
  for (int i = 1; i <= 13; ++i) text += "I" + std::to_string(i) + ",";
  for (int i = 1; i <= 26; ++i) text += std::string(i > 1 ? "," : "") + "C" + std::to_string(i);
  return text + "\n";
}

TEST(CriteoEncoder, EveryVariantGivesTheSameBatch) {
  Line line;
  line.ints[7] = "-1";
  const TempFile tsv("tsv", line.Text('\t') + "\n");
  const Batch expected = ReadBatch(tsv.path());
  const auto expect_same = [&](const std::string& text, bool label) {
    const TempFile file("variant", text);
    const Batch batch = ReadBatch(file.path(), label);
    EXPECT_EQ(batch.dense, expected.dense) << text;
    EXPECT_TRUE(std::ranges::equal(batch.sparse.values(), expected.sparse.values())) << text;
    EXPECT_EQ(batch.labels, label ? expected.labels : std::vector<float>()) << text;
  };
  expect_same(line.Text(','), true);
  expect_same(Header(false, true) + line.Text(','), true);
  Line with_id = line;
  with_id.id = "10000001";
  expect_same(with_id.Text(','), true);
  expect_same(Header(true, true) + with_id.Text(','), true);
  Line unlabelled = line;
  unlabelled.label = "none";
  expect_same(unlabelled.Text('\t'), false);
  expect_same(Header(false, false) + unlabelled.Text(','), false);
  unlabelled.id = "7";
  expect_same(Header(true, false) + unlabelled.Text(','), false);
}

TEST(CriteoEncoder, MalformedLinesNameFileLineAndColumn) {
  const TempFile file("f");
  const auto expect_error = [&](const Line& line, const std::string& message) {
    file.Write(Line().Text('\t') + "\n" + line.Text('\t') + "\n");
    EXPECT_THAT([&] { ReadBatch(file.path()); }, ThrowsMessage<Error>(file.path() + ":2: " + message));
  };
  Line line;
  line.ints[1] = "x7";
  expect_error(line, "column 3 (I2): 'x7' is not a number");
  line.ints[1] = "nan";
  expect_error(line, "column 3 (I2): 'nan' is not finite");
  line.ints[1] = "1e999";
  expect_error(line, "column 3 (I2): '1e999' is not finite");
  line = Line();
  line.hexes[0] = "68fd1eg4";
  expect_error(line, "column 15 (C1): '68fd1eg4' is not a hexadecimal number");
  line = Line();
  line.label = "2";
  expect_error(line, "column 1 (label): '2' is not a label; labels are 0 or 1");
  line = Line();
  line.label = "";
  expect_error(line, "column 1 (label): '' is not a label; labels are 0 or 1");
  line = Line();
  line.hexes.pop_back();
  expect_error(line, "39 columns; 40 are needed");
  line.hexes.resize(28, "1");
  expect_error(line, "42 columns; 40 are needed");
}

TEST(CriteoEncoder, WrongFilesAreRefused) {
  const TempFile empty("empty", "");
  EXPECT_THAT([&] { ReadBatch(empty.path()); }, ThrowsMessage<Error>(empty.path() + ": the file is empty"));
  const TempFile blank("blank", "\n\r\n");
  EXPECT_THAT([&] { ReadBatch(blank.path()); }, ThrowsMessage<Error>(blank.path() + ": the file is empty"));
  const TempFile narrow("narrow", "a,b,c\n");
  EXPECT_THAT([&] { ReadBatch(narrow.path()); },
              ThrowsMessage<Error>(HasSubstr(":1: 3 columns; a Criteo file has 40")));
  const TempFile header("header", "label,I1,C1\n1,2,3\n");
  EXPECT_THAT([&] { ReadBatch(header.path()); },
              ThrowsMessage<Error>(header.path() + ":1: no column 'I2'; the columns are label, I1, C1"));
  const TempFile twice("twice", "label,I1,C1,i1\n1,2,3,4\n");
  EXPECT_THAT([&] { ReadBatch(twice.path()); },
              ThrowsMessage<Error>(twice.path() + ":1: column 4 (i1): column 2 has this name already"));
  const TempFile only_header("only_header", Header(false, true));
  EXPECT_THAT([&] { ReadBatch(only_header.path()); },
              ThrowsMessage<Error>(only_header.path() + ": the file has no samples"));
  Line line;
  line.label = "none";
  const TempFile unlabelled("unlabelled", line.Text('\t'));
  EXPECT_THAT([&] { ReadBatch(unlabelled.path()); }, ThrowsMessage<Error>(HasSubstr("no label column")));
  EXPECT_THAT(
      [] {
        CriteoEncoder({1, 2});
      },
      ThrowsMessage<Error>("criteo: 2 tables' rows given; 26 are needed"));
  EXPECT_THAT([] { CriteoEncoder(std::vector<std::int64_t>(26, 0)); },
              ThrowsMessage<Error>("feature 'cat_0': 0 rows; at least 1 is needed"));
}

TEST(CriteoEncoder, MutatedFilesOnlyThrowError) {
  RandomSequence random(8, RandomStream::kShuffle);
  const TempFile file("f");
  const std::string good = Header(true, true) + "1," + Line().Text(',') + "\n2," + Line().Text(',') + "\n";
  const std::string tsv = Line().Text('\t') + "\n" + Line().Text('\t') + "\n";
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 == 0 ? good : tsv;
    for (std::int64_t n = 1 + random.NextBelow(4); n > 0; --n) {
      const auto at = static_cast<std::size_t>(random.NextBelow(static_cast<std::int64_t>(text.size())));
      switch (random.NextBelow(3)) {
        case 0:
          text[at] = static_cast<char>(random.NextBelow(256));
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(random.NextBelow(30)));
          break;
        default:
          text.insert(at, 1, "\t,\n\"-.e9"[random.NextBelow(8)]);
          break;
      }
      if (text.empty()) text = "1";
    }
    file.Write(text);
    try {
      const Batch batch = ReadBatch(file.path(), false);
      for (const float x : batch.dense) EXPECT_TRUE(std::isfinite(x));
      for (const std::int64_t id : batch.sparse.values()) EXPECT_TRUE(id >= 0 && id < 1000);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace hotrow
