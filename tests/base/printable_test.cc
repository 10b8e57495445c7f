#include "hotrow/base/printable.h"

#include <gtest/gtest.h>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

TEST(Printable, LeavesWhatATerminalCanShow) {
  EXPECT_EQ(Printable("day_0.tsv:12: column 3 (Größe): '…' 漢字 🙂"),
            "day_0.tsv:12: column 3 (Größe): '…' 漢字 🙂");
  EXPECT_EQ(Printable(""), "");
}

TEST(Printable, EscapesControlCharactersAndWhatIsNotUtf8) {
  EXPECT_EQ(Printable(std::string_view("a\nb\r\tc\0d\x1b[31m\x7f", 13)), "a\\nb\\r\\tc\\x00d\\x1b[31m");
  EXPECT_EQ(Printable("\xff\xc3("), "\\xff\\xc3(");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");           // a terminal's escape of one character
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a pair of surrogates
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Printable("\xe2\x80"), "\\xe2\\x80");  // cut off
}

TEST(Printable, CutsLongTexts) { EXPECT_EQ(Printable(std::string(5000, 'x')), std::string(4000, 'x') + "…"); }

TEST(Quoted, CutsBetweenCharacters) {
  EXPECT_EQ(Quoted("x7"), "'x7'");
  EXPECT_EQ(Quoted(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(Quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "…'");
  EXPECT_EQ(Quoted(std::string(39, 'x') + "é"), "'" + std::string(39, 'x') + "…'");
  EXPECT_EQ(Quoted("a\nb"), "'a\\nb'");
}

TEST(Fail, ThrowsOnePrintableLine) {
  try {
    Fail("f.csv:1: no column '{}'", "a\nb\x01");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f.csv:1: no column 'a\\nb\\x01'");
  }
}

}  // namespace
}  // namespace hotrow
