#include "hotrow/files/path_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

class SplitPathsTest : public ::testing::Test {
 protected:
  SplitPathsTest() { std::filesystem::create_directories(folder_); }
  ~SplitPathsTest() override { std::filesystem::remove_all(folder_); }
  std::string Make(const std::string& name) const {
    std::ofstream(folder_ + name) << "x";
    return folder_ + name;
  }

  std::string folder_ = ::testing::TempDir() + "path_list_test." + std::to_string(getpid()) + "/";
};

TEST_F(SplitPathsTest, ValuesAreListsInTheirOrder) {
  EXPECT_THAT(SplitPaths("--data", {}), ElementsAre());
  EXPECT_THAT(SplitPaths("--data", {"no_b"}), ElementsAre("no_b"));
  EXPECT_THAT(SplitPaths("--data", {"no_b,no_a", "no_c", "no_a"}),
              ElementsAre("no_b", "no_a", "no_c", "no_a"));
}

TEST_F(SplitPathsTest, WhatExistsIsANameAsItStands) {
  const std::string odd = Make("a,b.csv");
  const std::string plain = Make("c.csv");
  EXPECT_THAT(SplitPaths("--data", {odd}), ElementsAre(odd));
  EXPECT_THAT(SplitPaths("--data", {odd, plain}), ElementsAre(odd, plain));
  EXPECT_THAT(SplitPaths("--data", {plain + "," + plain}), ElementsAre(plain, plain));
  EXPECT_THAT(SplitPaths("--data", {odd + "," + plain}), ElementsAre(folder_ + "a", "b.csv", plain));
  const std::string both = Make("c.csv,c.csv");
  EXPECT_THAT(SplitPaths("--data", {both}), ElementsAre(both));
}

TEST_F(SplitPathsTest, ANameIsNotEmpty) {
  for (const char* value : {"", ",", "a,", ",a", "a,,b"}) {
    EXPECT_THAT([&] { SplitPaths("--eval-data", {value}); },
                ThrowsMessage<Error>("--eval-data: the name of a file is empty"))
        << value;
  }
}

}  // namespace
}  // namespace hotrow
