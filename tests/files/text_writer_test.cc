#include "hotrow/files/text_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

class TextWriterTest : public ::testing::Test {
 protected:
  TextWriterTest() { std::filesystem::create_directory(folder_); }
  ~TextWriterTest() override { std::filesystem::remove_all(folder_); }
  std::string Read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t Files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

  std::string folder_ = ::testing::TempDir() + "/text_writer_test." + std::to_string(getpid());
  std::string path_ = folder_ + "/a.txt";
};

TEST_F(TextWriterTest, TheFileAppearsWhole) {
  TextWriter writer(path_);
  writer.Print("{} {}\n", 1, "two");
  EXPECT_FALSE(std::filesystem::exists(path_));
  writer.Finish();
  EXPECT_EQ(Read(), "1 two\n");
  EXPECT_EQ(Files(), 1);
}

TEST_F(TextWriterTest, WithoutFinishTheOldFileStays) {
  std::ofstream(path_) << "old";
  { TextWriter(path_).Print("new"); }
  EXPECT_EQ(Read(), "old");
  EXPECT_EQ(Files(), 1);
}

TEST_F(TextWriterTest, ADeviceIsWrittenToAndStays) {
  TextWriter nothing("/dev/null");
  nothing.Print("x");
  nothing.Finish();
  TextWriter full("/dev/full");
  full.Print("x");
  EXPECT_THROW(full.Finish(), SystemError);
  struct stat device {};
  for (const char* path : {"/dev/null", "/dev/full"}) {
    ASSERT_EQ(stat(path, &device), 0);
    EXPECT_TRUE(S_ISCHR(device.st_mode)) << path;
  }
}

TEST_F(TextWriterTest, WritesThroughALink) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_ + "/far");
  fs::create_symlink("far/target.txt", folder_ + "/near.txt");
  fs::create_symlink("near.txt", path_);
  for (const char* text : {"first, the target is not there yet", "second"}) {
    TextWriter writer(path_);
    writer.Print("{}", text);
    writer.Finish();
    EXPECT_EQ(Read(), text);
    EXPECT_TRUE(fs::is_symlink(path_));
    EXPECT_TRUE(fs::is_symlink(folder_ + "/near.txt"));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ + "/far/target.txt")));
  }
  EXPECT_EQ(Files(), 3);
  fs::create_symlink("circle", folder_ + "/circle");
  EXPECT_THAT([&] { TextWriter(folder_ + "/circle"); },
              ::testing::ThrowsMessage<Error>(folder_ + "/circle: too many symbolic links"));
}

TEST_F(TextWriterTest, RefusesADirectoryAndAMissingOne) {
  EXPECT_THROW(TextWriter{folder_}, Error);
  EXPECT_THROW(TextWriter{folder_ + "/none/a.txt"}, Error);
  EXPECT_EQ(Files(), 0);
}

}  // namespace
}  // namespace hotrow
