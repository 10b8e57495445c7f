#include "hotrow/files/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

class NewFileTest : public ::testing::TestWithParam<UnfinishedFile> {
 protected:
  NewFileTest() { std::filesystem::create_directory(folder_); }
  ~NewFileTest() override { std::filesystem::remove_all(folder_); }
  std::string Read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    return names;
  }
  void WriteAll(const std::string& text) const {
    NewFile file(path_, GetParam());
    file.Write(text.data(), text.size());
    file.Finish();
  }
  bool HasUnnamedFiles() const {
    const int fd = open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
  }

  std::string folder_ = ::testing::TempDir() + "/new_file_test." + std::to_string(getpid());
  std::string path_ = folder_ + "/a";
};

TEST_P(NewFileTest, AppearsWholeAndReplaces) {
  for (const char* text : {"first", "second"}) {
    NewFile file(path_, GetParam());
    file.Write(text, 3);
    EXPECT_NE(Read().substr(0, 3), std::string(text, 3));
    file.Write(text + 3, std::string(text).size() - 3);
    file.Finish();
    EXPECT_EQ(Read(), text);
    EXPECT_EQ(Files(), std::vector<std::string>{"a"});
  }
}

TEST_P(NewFileTest, GivenUpLeavesTheOldOne) {
  WriteAll("old");
  { NewFile(path_, GetParam()).Write("new", 3); }
  EXPECT_EQ(Read(), "old");
  EXPECT_EQ(Files(), std::vector<std::string>{"a"});
}

TEST_P(NewFileTest, HasTheModeOfAnyFile) {
  const mode_t mask = umask(0027);
  WriteAll("x");
  umask(mask);
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0640});
}

// A process number comes back, and with it the name.
TEST_P(NewFileTest, WhatAKilledProcessLeftIsNoHindrance) {
  WriteAll("old");
  std::ofstream(path_ + "." + std::to_string(getpid()) + ".tmp") << "longer than what follows";
  WriteAll("new");
  EXPECT_EQ(Read(), "new");
  EXPECT_EQ(Files(), std::vector<std::string>{"a"});
}

TEST_P(NewFileTest, ADirectoryThatWentAway) {
  NewFile file(path_, GetParam());
  file.Write("x", 1);
  std::filesystem::remove_all(folder_);
  EXPECT_THROW(file.Finish(), Error);
}

INSTANTIATE_TEST_SUITE_P(All, NewFileTest,
                         ::testing::Values(UnfinishedFile::kUnnamed, UnfinishedFile::kNamed));

using UnnamedFileTest = NewFileTest;
INSTANTIATE_TEST_SUITE_P(Unnamed, UnnamedFileTest, ::testing::Values(UnfinishedFile::kUnnamed));

TEST_P(UnnamedFileTest, NothingRemainsOfAKilledProcess) {
  if (!HasUnnamedFiles()) GTEST_SKIP() << "this file system has no unnamed files";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    NewFile file(path_, GetParam());
    file.Write("half", 4);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

}  // namespace
}  // namespace hotrow
