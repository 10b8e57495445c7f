#include "hotrow/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SafetensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / fmt::format("safetensors_{}_{}", getpid(), info->name());
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    path_ = (directory_ / "model.safetensors").string();
  }
  void TearDown() override { fs::remove_all(directory_); }

  void WriteRaw(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void WriteFile(const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    WriteRaw(bytes + header + data);
  }
  std::string ReadRaw() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  std::string OpenError() const {
    try {
      SafetensorsReader reader(path_);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  }
  std::int64_t FilesInDirectory() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }

  fs::path directory_;
  std::string path_;
};

TEST_F(SafetensorsTest, RoundTrip) {
  std::vector<float> big(700'000);  // more than the writer gathers
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<float>(i);
  const std::vector<float> small = {1.5F, -2.5F, 3.5F, 0.0F, 5.5F, 6.5F};
  {
    SafetensorsWriter writer(path_, {{"b", {2, 3}}, {"big", {700'000}}, {"none", {0, 4}}, {"a", {}}},
                             {{"model", "DLRM"}, {"quote\"", "ü"}});
    writer.Append(small.data(), 1);
    writer.Append(small.data() + 1, 5);
    writer.Append(big.data(), 10);
    writer.Append(big.data() + 10, 699'990);
    writer.Append(small.data(), 1);
    EXPECT_FALSE(fs::exists(path_));
    writer.Finish();
  }
  EXPECT_EQ(FilesInDirectory(), 1);
  SafetensorsReader reader(path_);
  EXPECT_EQ(reader.tensors().size(), 4U);
  EXPECT_EQ(reader.metadata().at("model"), "DLRM");
  EXPECT_EQ(reader.metadata().at("quote\""), "ü");
  EXPECT_THAT(reader.Info("b").shape, ElementsAre(2, 3));
  EXPECT_TRUE(reader.Info("a").shape.empty());
  EXPECT_EQ(reader.Info("a").elements(), 1);
  EXPECT_EQ(reader.ReadF32("b"), small);
  EXPECT_EQ(reader.ReadF32("big"), big);
  EXPECT_TRUE(reader.ReadF32("none").empty());
  float part[3] = {};
  reader.Read("b", 2, 3, part);
  EXPECT_THAT(part, ElementsAre(3.5F, 0.0F, 5.5F));
  EXPECT_THROW(reader.Read("b", 4, 3, part), Error);
  EXPECT_THROW(reader.Read("b", -1, 1, part), Error);
  EXPECT_THROW(reader.ReadI32("b"), Error);
  EXPECT_THROW(reader.ReadF32("c"), Error);
  EXPECT_FALSE(reader.Has("c"));
}

TEST_F(SafetensorsTest, ReadsEveryType) {
  WriteFile(
      R"({"f":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"i":{"dtype":"I32","shape":[2],"data_offsets":[8,16]},)"
      R"("l":{"dtype":"I64","shape":[1],"data_offsets":[16,24]},"u":{"dtype":"U8","shape":[3],"data_offsets":[24,27]}}   )",
      std::string(8, '\0') + std::string("\1\0\0\0\xff\xff\xff\xff", 8) + std::string(8, '\xff') + "a\xff!");
  SafetensorsReader reader(path_);
  EXPECT_THAT(reader.ReadF64("f"), ElementsAre(0.0));
  EXPECT_THAT(reader.ReadI32("i"), ElementsAre(1, -1));
  EXPECT_THAT(reader.ReadI64("l"), ElementsAre(-1));
  EXPECT_THAT(reader.ReadU8("u"), ElementsAre('a', '\xff', '!'));
}

TEST_F(SafetensorsTest, WritesOffsetsFloatsAndBytes) {
  const std::vector<std::int64_t> offsets = {0, std::int64_t{1} << 40};
  const float one = 1;
  const std::string text("a\0\xff", 3);
  {
    SafetensorsWriter writer(
        path_,
        {{"o", {2}, TensorType::kI64}, {"f", {1}}, {"t", {3}, TensorType::kU8}, {"e", {0}, TensorType::kU8}},
        {});
    writer.Append(offsets.data(), 2);
    writer.Append(&one, 1);
    writer.Append(text.data(), 2);
    writer.Append(text.data() + 2, 1);
    EXPECT_THROW(writer.Append(text.data(), 1), Error);
    writer.Finish();
  }
  SafetensorsReader reader(path_);
  EXPECT_EQ(reader.ReadI64("o"), offsets);
  EXPECT_THAT(reader.ReadF32("f"), ElementsAre(1));
  EXPECT_THAT(reader.ReadU8("t"), ElementsAre('a', '\0', '\xff'));
  EXPECT_TRUE(reader.ReadU8("e").empty());
  EXPECT_THROW(reader.ReadU8("f"), Error);
}

// Readers, this one among them, take at most 100,000,000 bytes: such a file would be written in vain.
TEST_F(SafetensorsTest, AHeaderThatNobodyReadsIsRefusedBeforeItIsWritten) {
  const std::map<std::string, std::string> large = {{"m", std::string(100'000'000, 'x')}};
  EXPECT_THAT(
      [&] {
        SafetensorsWriter::Check(path_, {{"a", {1}}}, large);
      },
      ::testing::ThrowsMessage<Error>(
          AllOf(HasSubstr("its header would take 1000000"), HasSubstr("at most 100000000"))));
  EXPECT_THROW(SafetensorsWriter(path_, {{"a", {1}}}, large), Error);
  EXPECT_EQ(FilesInDirectory(), 0);
  const std::map<std::string, std::string> largest = {{"m", std::string(99'999'900, 'x')}};
  SafetensorsWriter writer(path_, {{"a", {1}}}, largest);
  const float one = 1;
  writer.Append(&one, 1);
  writer.Finish();
  EXPECT_EQ(SafetensorsReader(path_).metadata().at("m").size(), 99'999'900U);
}

TEST_F(SafetensorsTest, AnUnfinishedWriteLeavesTheOldFile) {
  WriteRaw("old");
  {
    SafetensorsWriter writer(path_, {{"a", {2}}}, {});
    const float value = 1;
    writer.Append(&value, 1);
    EXPECT_THROW(writer.Finish(), Error) << "one float is missing";
  }
  EXPECT_EQ(ReadRaw(), "old");
  EXPECT_EQ(FilesInDirectory(), 1);
}

TEST_F(SafetensorsTest, WritesThroughALink) {
  fs::create_symlink("target.safetensors", path_);
  SafetensorsWriter writer(path_, {{"a", {1}}}, {});
  const float one = 1;
  writer.Append(&one, 1);
  writer.Finish();
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_THAT(SafetensorsReader((directory_ / "target.safetensors").string()).ReadF32("a"), ElementsAre(1));
}

TEST_F(SafetensorsTest, WriterRefuses) {
  EXPECT_THROW(SafetensorsWriter(path_, {{"a", {2}}, {"a", {1}}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter(path_, {{"__metadata__", {2}}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter(path_, {{"a", {-1}}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter(path_, {{"a", {std::int64_t{1} << 40, std::int64_t{1} << 40}}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter(path_, {{"\xff", {1}}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter(directory_.string(), {{"a", {1}}}, {}), Error);
  EXPECT_THROW(SafetensorsWriter((directory_ / "absent" / "x").string(), {{"a", {1}}}, {}), Error);
  SafetensorsWriter writer(path_, {{"a", {1}}}, {});
  const float values[2] = {};
  EXPECT_THROW(writer.Append(values, 2), Error);
}

TEST_F(SafetensorsTest, NoFile) {
  EXPECT_THAT(OpenError(), AllOf(HasSubstr(path_), HasSubstr("no such file")));
  path_ = directory_.string();
  EXPECT_THAT(OpenError(), HasSubstr("not a file"));
}

TEST_F(SafetensorsTest, BadLength) {
  WriteRaw("");
  EXPECT_THAT(OpenError(), HasSubstr("too few"));
  WriteRaw("1234567");
  EXPECT_THAT(OpenError(), HasSubstr("too few"));
  WriteRaw(std::string(8, '\xff') + "{}");
  EXPECT_THAT(OpenError(), HasSubstr("not a safetensors file"));
  WriteRaw(std::string("\3\0\0\0\0\0\0\0{}", 10));
  EXPECT_THAT(OpenError(), HasSubstr("a header of 3 bytes, at most 2"));
  WriteRaw(std::string(8, '\0'));
  EXPECT_THAT(OpenError(), HasSubstr("JSON"));
}

TEST_F(SafetensorsTest, BadHeaders) {
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{", "JSON"},
      {"[]", "object was expected"},
      {R"({"a":)" + tensor + R"(,"a":)" + tensor + "}", "key \"a\" is there twice"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "key \"dtype\" is there twice"},
      {R"({"a":3})", "'a'"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "'dtype'"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "'shape'"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "'data_offsets'"},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", "'shape'"},
      {R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", "'F16' is not one of"},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "-1 is not a size"},
      {R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1.5 is not a size"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", "not a size"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "64 bits"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "not 2"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "do not span"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "do not span"},
      {R"({"__metadata__":{"k":1},"a":)" + tensor + "}", "not a string"},
      {R"({"__metadata__":[],"a":)" + tensor + "}", "not an object"},
      {"{\"a\":" + std::string(100000, '[') + "}", "nested"},
  };
  for (const auto& [header, message] : cases) {
    WriteFile(header, std::string(4, '\0'));
    EXPECT_THAT(OpenError(), AllOf(HasSubstr(path_), HasSubstr(message))) << header.substr(0, 100);
  }
}

TEST_F(SafetensorsTest, HolesOverlapsAndTruncation) {
  const auto two = [](int begin, int end) {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[)" +
           std::to_string(begin) + "," + std::to_string(end) + "]}}";
  };
  WriteFile(two(8, 16), std::string(16, '\0'));
  EXPECT_EQ(OpenError(), "no error");
  WriteFile(two(8, 16), std::string(15, '\0'));
  EXPECT_THAT(OpenError(), HasSubstr("16 bytes of data, the file has 15"));
  WriteFile(two(8, 16), std::string(17, '\0'));
  EXPECT_THAT(OpenError(), HasSubstr("16 bytes of data, the file has 17"));
  WriteFile(two(4, 12), std::string(12, '\0'));
  EXPECT_THAT(OpenError(), HasSubstr("'b' begins at byte 4"));
  WriteFile(two(12, 20), std::string(20, '\0'));
  EXPECT_THAT(OpenError(), HasSubstr("'b' begins at byte 12"));
}

TEST_F(SafetensorsTest, AFileThatShrinksWhileOpenIsAnError) {
  const std::vector<float> values(100'000, 1.0F);
  SafetensorsWriter writer(path_, {{"a", {100'000}}}, {});
  writer.Append(values.data(), 100'000);
  writer.Finish();
  SafetensorsReader reader(path_);
  fs::resize_file(path_, 1000);
  EXPECT_THROW(reader.ReadF32("a"), Error);
}

// Any damage is an Error or a file that still reads whole; never a crash (the sanitizers watch).
TEST_F(SafetensorsTest, SurvivesRandomDamage) {
  {
    SafetensorsWriter writer(path_, {{"a", {3, 2}}, {"b", {5}}}, {{"k", "v"}});
    const std::vector<float> values(11, 2.0F);
    writer.Append(values.data(), 11);
    writer.Finish();
  }
  const std::string good = ReadRaw();
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    const auto changes = 1 + random() % 3;
    for (unsigned i = 0; i < changes; ++i) {
      const auto at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 4);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>("0{}[],:\"9-"[random() % 10]));
          break;
      }
    }
    WriteRaw(bytes);
    try {
      SafetensorsReader reader(path_);
      for (const auto& [name, info] : reader.tensors()) {
        if (info.type == TensorType::kF32) {
          EXPECT_EQ(static_cast<std::int64_t>(reader.ReadF32(name).size()), info.elements());
        }
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hotrow
