#include "hotrow/data/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "hotrow/base/error.h"
#include "hotrow/base/rng.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Records = std::vector<std::vector<std::string>>;

Records ReadAll(const std::string& path, RecordFormat format = {}) {
  RecordReader reader(path, format);
  Records records;
  while (reader.Next()) records.emplace_back(reader.fields().begin(), reader.fields().end());
  EXPECT_FALSE(reader.Next());
  return records;
}

TEST(RecordReader, SplitsLinesOfEveryEnding) {
  const TempFile file("f",
                      "\xef\xbb\xbf"
                      "a,b\r\n,\n\n\r\nc,d,");
  EXPECT_THAT(ReadAll(file.path()),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("", ""), ElementsAre("c", "d", "")));
}

TEST(RecordReader, KnowsLines) {
  const TempFile file("f", "\na\n\n\"b\nb\"\nc\n");
  RecordReader reader(file.path());
  EXPECT_EQ(reader.PeekLine(), "a");
  std::vector<std::int64_t> lines;
  while (reader.Next()) lines.push_back(reader.line());
  EXPECT_THAT(lines, ElementsAre(2, 4, 6));
}

TEST(RecordReader, QuotedFields) {
  const TempFile file("f", "\"a,\"\"b\"\"\",c\"d,\"\"\r\n\"x\ny\",\"z\"");
  EXPECT_THAT(ReadAll(file.path()),
              ElementsAre(ElementsAre("a,\"b\"", "c\"d", ""), ElementsAre("x\ny", "z")));
  EXPECT_THAT(ReadAll(file.path(), {.separator = ',', .quotes = false}).front(),
              ElementsAre("\"a", "\"\"b\"\"\"", "c\"d", "\"\""));
}

TEST(RecordReader, GzipReadsLikePlain) {
  const std::string text = "a\tb\nc\td\n";
  const TempFile file("f.gz");
  file.WriteGzip(text);
  EXPECT_THAT(ReadAll(file.path(), {.separator = '\t'}),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  std::string large;
  for (int i = 0; i < 100'000; ++i) large += "some,words,12345\n";
  file.WriteGzip(large);
  file.Write(file.Read().substr(0, 200));
  EXPECT_THAT([&] { ReadAll(file.path()); },
              ThrowsMessage<Error>(HasSubstr("the compressed file ends early")));
}

TEST(RecordReader, GzipMembersFollowOneAnotherAndNothingElseDoes) {
  const TempFile file("f.gz");
  file.WriteGzip("a,b\n");
  const std::string first = file.Read();
  file.WriteGzip("c,d\n");
  const std::string second = file.Read();
  file.Write(first + second);
  EXPECT_THAT(ReadAll(file.path()), ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
  // Zero bytes, which tapes and disks leave, are passed over as gzip does, whatever their number.
  for (const std::size_t zeros : {std::size_t{1}, std::size_t{8}, std::size_t{300'000}}) {
    const std::string padding(zeros, '\0');
    file.Write(first + padding);
    EXPECT_THAT(ReadAll(file.path()), ElementsAre(ElementsAre("a", "b")));
    file.Write(first + second + padding);
    EXPECT_THAT(ReadAll(file.path()), ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
    file.Write(first + padding + second);
    EXPECT_THAT([&] { ReadAll(file.path()); },
                ThrowsMessage<Error>(HasSubstr(": other bytes follow the end of the compressed data")));
  }
  for (const std::string& junk : {std::string("x"), std::string("e,f\n"), std::string("\0\0x", 3)}) {
    file.Write(first + junk);
    EXPECT_THAT([&] { ReadAll(file.path()); },
                ThrowsMessage<Error>(HasSubstr(": other bytes follow the end of the compressed data")));
  }
  std::string damaged = first;
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  file.Write(damaged);
  EXPECT_THAT([&] { ReadAll(file.path()); },
              ThrowsMessage<Error>(HasSubstr("the compressed data are damaged")));
  // Cut anywhere behind the magic bytes, in the second member too: never a shorter file.
  const std::string both = first + second;
  for (std::size_t size = 2; size < both.size(); ++size) {
    if (size == first.size()) continue;
    file.Write(both.substr(0, size));
    EXPECT_THAT([&] { ReadAll(file.path()); },
                ThrowsMessage<Error>(HasSubstr("the compressed file ends early")))
        << size;
  }
}

std::string Escaped(const std::string& field) {
  if (field.find_first_of("\",\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

TEST(RecordReader, RandomRecordsRoundTripAcrossBlocks) {
  RandomSequence random(5, RandomStream::kShuffle);
  const std::string alphabet = "ab\",\r\n\t 1";
  Records records;
  std::string text;
  while (text.size() < 3'000'000) {
    std::vector<std::string> record(static_cast<std::size_t>(2 + random.NextBelow(5)));
    const std::int64_t longest = random.NextBelow(200) == 0 ? 20'000 : 12;
    for (std::size_t i = 0; i < record.size(); ++i) {
      for (std::int64_t n = random.NextBelow(longest); n > 0; --n) {
        record[i] +=
            alphabet[static_cast<std::size_t>(random.NextBelow(static_cast<std::int64_t>(alphabet.size())))];
      }
      text += (i > 0 ? "," : "") + Escaped(record[i]);
    }
    text += random.NextBelow(2) == 0 ? "\n" : "\r\n";
    records.push_back(record);
  }
  const TempFile file("f", text);
  EXPECT_EQ(ReadAll(file.path()), records);
}

TEST(RecordReader, Errors) {
  EXPECT_THAT([] { RecordReader("/no/such/file"); },
              ThrowsMessage<Error>("/no/such/file: cannot open: No such file or directory"));
  EXPECT_THAT([] { RecordReader("/tmp"); }, ThrowsMessage<Error>("/tmp: is a directory; a file is needed"));
  EXPECT_THAT([] { RecordReader("/dev/zero"); },
              ThrowsMessage<Error>(HasSubstr("/dev/zero: is a device; a file is needed")));
  const TempFile pipe("pipe");
  ASSERT_EQ(mkfifo(pipe.path().c_str(), 0600), 0);
  EXPECT_THAT([&] { RecordReader(pipe.path()); },
              ThrowsMessage<Error>(HasSubstr("is a pipe; a file is needed")));
  const TempFile open("open", "a,b\nc,\"d\n");
  const std::string advice =
      "; if quotes are ordinary characters in this file, `quotes = false` in its schema says so";
  EXPECT_THAT([&] { ReadAll(open.path()); },
              ThrowsMessage<Error>(open.path() +
                                   ":2: column 2: a quoted field that begins here is not closed" + advice));
  // A record may begin lines before the field does.
  const TempFile inch("inch", "size\tname\n\"a\nb\"\t\"12 inch\n3\tc\n4\td\n");
  EXPECT_THAT([&] { ReadAll(inch.path(), {.separator = '\t', .quotes = true}); },
              ThrowsMessage<Error>(HasSubstr(":3: column 2: a quoted field that begins here is not closed")));
  const TempFile behind("behind", "a,\"b\"c\n");
  EXPECT_THAT(
      [&] { ReadAll(behind.path()); },
      ThrowsMessage<Error>(behind.path() +
                           ":1: column 2: a quoted field that begins here has text behind its closing quote" +
                           advice));
}

// What a pipe's bytes are is known without going back in it.
TEST(RecordReader, ReadsAPipePlainAndCompressed) {
  const TempFile file("f.gz");
  file.WriteGzip("a,b\nc,d\n");
  EXPECT_FALSE(IsPipe(file.path()));
  for (const std::string& bytes :
       {file.Read(), std::string("a,b\nc,d\n"), std::string("\x1f"), std::string()}) {
    const Pipe pipe("pipe", bytes);
    EXPECT_TRUE(IsPipe(pipe.path()));
    RecordReader reader(pipe.path(), {}, true);
    std::size_t records = 0;
    while (reader.Next()) ++records;
    EXPECT_EQ(records, bytes.size() > 1 ? 2U : bytes.size());
  }
}

TEST(RecordReader, EndlessRecordIsAnErrorNotAllMemory) {
  const TempFile file("f");
  file.WriteGzip("\"" + std::string(70 << 20, 'x'));
  EXPECT_THAT([&] { ReadAll(file.path()); },
              ThrowsMessage<Error>(HasSubstr(":1: a record longer than 64 MiB: is a quote left open")));
  file.WriteGzip("a\nb,\"12 inch\n" + std::string(70 << 20, 'x'));
  EXPECT_THAT([&] { ReadAll(file.path()); },
              ThrowsMessage<Error>(HasSubstr(
                  ":2: column 2: a quoted field that begins here makes a record longer than 64 MiB")));
}

TEST(RecordReader, RandomBytesNeverCrash) {
  RandomSequence random(6, RandomStream::kShuffle);
  const TempFile file("f");
  const std::string alphabet = std::string("\"\",,\n\r\t a\0", 10) + "\xff";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::int64_t n = random.NextBelow(40); n > 0; --n) {
      text +=
          alphabet[static_cast<std::size_t>(random.NextBelow(static_cast<std::int64_t>(alphabet.size())))];
    }
    file.Write(text);
    try {
      for (const auto& record : ReadAll(file.path())) EXPECT_FALSE(record.empty());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace hotrow
