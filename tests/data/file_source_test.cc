#include "hotrow/data/file_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "hotrow/base/error.h"
#include "hotrow/data/criteo_encoder.h"
#include "tests/data/temp_file.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::shared_ptr<CriteoEncoder> AnyEncoder() {
  return std::make_shared<CriteoEncoder>(std::vector<std::int64_t>(26, 100'000));
}

// Lines whose every categorical is the sample's number.
std::string Lines(int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    text += std::to_string(i % 2);
    for (int d = 0; d < 13; ++d) text += "\t" + std::to_string(i);
    char hex[16];
    std::snprintf(hex, sizeof(hex), "\t%08x", static_cast<unsigned>(i));
    for (int s = 0; s < 26; ++s) text += hex;
    text += "\n";
  }
  return text;
}

std::vector<std::int64_t> Epoch(BatchSource& source, std::int64_t epoch, std::int64_t batch_size) {
  source.StartEpoch(epoch);
  Batch batch;
  std::vector<std::int64_t> order;
  while (source.Next(batch_size, batch)) {
    EXPECT_EQ(batch.first_sample, static_cast<std::int64_t>(order.size()));
    EXPECT_LE(batch.size, batch_size);
    const auto ids = batch.sparse.feature(25).ids;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(batch.labels[i], static_cast<float>(ids[i] % 2));
      EXPECT_EQ(batch.dense[i * 13 + 12], CriteoEncoder::DenseTransform(static_cast<double>(ids[i])));
      order.push_back(ids[i]);
    }
  }
  EXPECT_EQ(batch.size, 0);
  EXPECT_FALSE(source.Next(batch_size, batch));
  return order;
}

TEST(FileSource, StreamsFilesInOrder) {
  const TempFile a("a", Lines(0, 7));
  const TempFile b("b", Lines(7, 5));
  const auto source = OpenFileSource(AnyEncoder(), {.paths = {a.path(), b.path()}});
  EXPECT_FALSE(source->description().samples);
  for (const std::int64_t epoch : {0, 1, 5}) {
    EXPECT_THAT(Epoch(*source, epoch, 5), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  }
}

TEST(FileSource, EveryEpochReadsTheSameFiles) {
  const TempFile a("a", Lines(0, 7));
  const TempFile b("b", Lines(7, 5));
  const auto refuses = [&](const auto& change, const std::string& what) {
    const auto source = OpenFileSource(AnyEncoder(), {.paths = {a.path(), b.path()}});
    Epoch(*source, 0, 5);
    change();
    EXPECT_THAT([&] { Epoch(*source, 1, 5); }, ThrowsMessage<Error>(b.path() + what));
  };
  refuses([&] { std::ofstream(b.path(), std::ios::app) << Lines(12, 1); },
          ": changed since it was first read");
  refuses(
      [&] {  // as large as the old one
        std::ofstream(b.path() + ".new") << Lines(7, 6);
        std::filesystem::rename(b.path() + ".new", b.path());
      },
      ": changed since it was first read");
  refuses([&] { std::filesystem::resize_file(b.path(), 0); }, ": changed since it was first read");
}

TEST(FileSource, AFileThatIsStillWrittenToIsAMistake) {
  const TempFile a("a", Lines(0, 7));
  const auto source = OpenFileSource(AnyEncoder(), {.paths = {a.path()}});
  source->StartEpoch(0);
  Batch batch;
  ASSERT_TRUE(source->Next(2, batch));
  std::ofstream(a.path(), std::ios::app) << Lines(7, 1).substr(0, 150);
  EXPECT_THAT([&] { source->Next(9, batch); },
              ThrowsMessage<Error>(a.path() + ": was written to while it was read"));
}

TEST(FileSource, TheLastFileIsMissedAtOnce) {
  const TempFile a("a", Lines(0, 7));
  EXPECT_THAT(
      [&] {
        OpenFileSource(AnyEncoder(), {.paths = {a.path(), a.path() + ".none"}});
      },
      ThrowsMessage<Error>(HasSubstr(".none: cannot open")));
}

TEST(FileSource, ShuffleIsAPermutationOfSeedAndEpoch) {
  const TempFile a("a", Lines(0, 50));
  const TempFile b("b", Lines(50, 33));
  const FileSourceOptions options{.paths = {a.path(), b.path()}, .shuffle = true, .seed = 9};
  const auto source = OpenFileSource(AnyEncoder(), options);
  EXPECT_EQ(source->description().samples, 83);
  const auto first = Epoch(*source, 0, 10);
  const auto second = Epoch(*source, 1, 10);
  EXPECT_NE(first, second);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<std::int64_t>(i));
  EXPECT_EQ(Epoch(*source, 0, 83), first);  // any batch size, any order of epochs
  EXPECT_EQ(Epoch(*OpenFileSource(AnyEncoder(), options), 1, 7), second);
  FileSourceOptions other = options;
  other.seed = 10;
  EXPECT_NE(Epoch(*OpenFileSource(AnyEncoder(), other), 0, 10), first);
}

TEST(FileSource, OrderIsUnbiased) {
  std::vector<int> first(6);
  for (std::int64_t epoch = 0; epoch < 6000; ++epoch) ++first[ShuffledOrder(1, epoch, 6)[2]];
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);
  EXPECT_TRUE(ShuffledOrder(1, 0, 0).empty());
}

TEST(FileSource, VanishedFileIsAnErrorAtTheNextEpoch) {
  auto file = std::make_unique<TempFile>("f", Lines(0, 3));
  const std::string path = file->path();
  const auto source = OpenFileSource(AnyEncoder(), {.paths = {path}});
  Epoch(*source, 0, 2);
  file.reset();
  EXPECT_THAT([&] { source->StartEpoch(1); },
              ThrowsMessage<Error>(path + ": cannot open: No such file or directory"));
}

TEST(FileSource, AfterAnErrorTheEpochStartsAnew) {
  const TempFile file("f", Lines(0, 3) + "bad\n");
  const auto source = OpenFileSource(AnyEncoder(), {.paths = {file.path()}});
  Batch batch;
  EXPECT_THROW(source->Next(10, batch), Error);
  source->StartEpoch(0);
  ASSERT_TRUE(source->Next(3, batch));
  EXPECT_EQ(batch.size, 3);
  EXPECT_EQ(batch.sparse.values()[0], 0);
}

TEST(FileSource, FilesMustAgreeAboutLabels) {
  const TempFile a("a", Lines(0, 2));
  std::string unlabelled = Lines(0, 1);
  const TempFile b("b", unlabelled.substr(2));
  EXPECT_THAT(
      [&] {
        OpenFileSource(AnyEncoder(), {.paths = {a.path(), b.path()}, .shuffle = true, .need_labels = false});
      },
      ThrowsMessage<Error>(b.path() + " has no label, unlike " + a.path()));
  EXPECT_THAT([] { OpenFileSource(AnyEncoder(), {}); },
              ThrowsMessage<Error>(HasSubstr("no data file given")));
  const auto source = OpenFileSource(AnyEncoder(), {.paths = {b.path()}, .need_labels = false});
  EXPECT_FALSE(source->description().has_labels);
}

TEST(FileSource, MemoryIsAskedForBeforeItIsTaken) {
  const TempFile file("f", Lines(0, 7));
  std::int64_t available = std::int64_t{1} << 20;
  FileSourceOptions options{.paths = {file.path()}, .shuffle = true, .available_memory = [&] {
                              available -= 10;
                              return available;
                            }};
  EXPECT_THAT([&] { OpenFileSource(AnyEncoder(), options); },
              ThrowsMessage<Error>(file.path() + ": its samples do not fit in memory (0 read, 0.0 GiB left): "
                                                 "without shuffling, files are streamed"));
  options.shuffle = false;
  const auto stream = OpenFileSource(AnyEncoder(), options);
  Batch batch;
  EXPECT_THAT([&] { stream->Next(7, batch); },
              ThrowsMessage<Error>(HasSubstr(
                  ": a batch does not fit in memory (0 samples read, 0.0 GiB left): try a smaller one")));
  available = std::int64_t{1} << 26;  // little, and enough for a small file
  EXPECT_EQ(Epoch(*stream, 0, 7).size(), 7U);
  options.shuffle = true;
  EXPECT_EQ(OpenFileSource(AnyEncoder(), options)->description().samples, 7);
}

TEST(FileSource, MoreSamplesThanAnOrderCanNumberAreAnError) {
  const TempFile a("a", Lines(0, 4));
  const TempFile b("b", Lines(4, 3));
  FileSourceOptions options{.paths = {a.path(), b.path()}, .shuffle = true, .max_shuffled = 6};
  EXPECT_THAT([&] { OpenFileSource(AnyEncoder(), options); },
              ThrowsMessage<Error>(a.path() + " and 1 more: more than 6 samples cannot be shuffled: "
                                              "without shuffling, files are streamed"));
  options.max_shuffled = 7;
  EXPECT_EQ(OpenFileSource(AnyEncoder(), options)->description().samples, 7);
  options.max_shuffled = 6;
  options.shuffle = false;
  EXPECT_EQ(Epoch(*OpenFileSource(AnyEncoder(), options), 0, 5).size(), 7U);
}

// What is left of epoch 1 after `batches` batches: read from its start, or sought.
std::vector<Batch> Rest(BatchSource& source, std::int64_t batches, bool seek) {
  constexpr std::int64_t kBatch = 3;
  Batch batch;
  if (seek) {
    source.Seek(1, batches, kBatch);
  } else {
    source.StartEpoch(1);
    for (std::int64_t i = 0; i < batches; ++i) source.Next(kBatch, batch);
  }
  std::vector<Batch> rest;
  while (source.Next(kBatch, batch)) rest.push_back(batch);
  return rest;
}

TEST(FileSource, SeekGivesTheBatchesOfReadingFromTheStart) {
  const TempFile a("a", Lines(0, 7));
  const TempFile b("b", Lines(7, 6));
  for (const bool shuffle : {false, true}) {
    const FileSourceOptions options{.paths = {a.path(), b.path()}, .shuffle = shuffle, .seed = 3};
    const auto read = OpenFileSource(AnyEncoder(), options);
    const auto sought = OpenFileSource(AnyEncoder(), options);
    for (const std::int64_t batches : {2, 0, 4, 1, 5, 9, 3}) {  // back and forth, and beyond the end
      const std::vector<Batch> want = Rest(*read, batches, false);
      const std::vector<Batch> got = Rest(*sought, batches, true);
      EXPECT_EQ(want.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, 5 - batches)));
      ASSERT_EQ(got.size(), want.size()) << batches;
      for (std::size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(got[i].first_sample, want[i].first_sample);
        EXPECT_EQ(got[i].dense, want[i].dense);
        EXPECT_EQ(got[i].labels, want[i].labels);
        EXPECT_TRUE(std::ranges::equal(got[i].sparse.values(), want[i].sparse.values()));
      }
    }
  }
}

TEST(FileSource, StreamsAPipeOnceAmongFiles) {
  const TempFile a("a", Lines(0, 7));
  const Pipe pipe("pipe", Lines(7, 5));
  const auto source = OpenFileSource(AnyEncoder(), {.paths = {a.path(), pipe.path()}, .pipes = true});
  EXPECT_TRUE(source->description().one_pass);
  EXPECT_THAT(Epoch(*source, 0, 5), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT([&] { source->StartEpoch(1); },
              ThrowsMessage<Error>(HasSubstr("comes through a pipe, which is read once")));
}

TEST(FileSource, ShufflesWhatAPipeHoldsForAnyNumberOfEpochs) {
  const TempFile file("file", Lines(0, 12));
  const Pipe pipe("pipe", Lines(0, 12));
  FileSourceOptions options{.paths = {pipe.path()}, .shuffle = true, .pipes = true};
  const auto piped = OpenFileSource(AnyEncoder(), options);
  options.paths = {file.path()};
  const auto read = OpenFileSource(AnyEncoder(), options);
  EXPECT_FALSE(piped->description().one_pass);
  for (const std::int64_t epoch : {0, 1, 2}) EXPECT_EQ(Epoch(*piped, epoch, 5), Epoch(*read, epoch, 5));
}

TEST(FileSource, APipeIsRefusedWhereItIsNotAskedFor) {
  const Pipe pipe("pipe", "");
  EXPECT_THAT([&] { OpenFileSource(AnyEncoder(), {.paths = {pipe.path()}}); },
              ThrowsMessage<Error>(HasSubstr(pipe.path() + ": is a pipe; a file is needed")));
}

}  // namespace
}  // namespace hotrow
