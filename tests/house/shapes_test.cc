// The text files of bench/shapes say what the library's presets say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hotrow/data/presets.h"

namespace hotrow {
namespace {

struct Shapes {
  std::vector<std::string> names;
  std::vector<std::int64_t> first;
  std::vector<std::int32_t> second;
};

// Lines "name number number"; a line that starts with # is a comment.
Shapes ReadShapes(const std::string& name) {
  std::ifstream file(std::string(HOTROW_TEST_SOURCE_DIR) + "/../bench/shapes/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  Shapes shapes;
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;
    std::istringstream fields(line);
    std::string label;
    std::int64_t first = 0;
    std::int32_t second = 0;
    EXPECT_TRUE(fields >> label >> first >> second) << name << ": " << line;
    shapes.names.push_back(label);
    shapes.first.push_back(first);
    shapes.second.push_back(second);
  }
  return shapes;
}

TEST(Shapes, TablesAreThePresets) {
  for (const std::string preset : {"mlperf", "canonical", "shrunk"}) {
    const Shapes shapes = ReadShapes("tables_" + preset + ".txt");
    EXPECT_EQ(shapes.names, NumberedNames("t_f", 26)) << preset;
    EXPECT_EQ(shapes.first, CardinalityPreset(preset)) << preset;
    EXPECT_EQ(shapes.second, ParseMultiHot("mlperf", 26)) << preset;
  }
}

// 2 x the weights is the work of a forward pass: 32.06 MFLOP a sample for MLPerf's DLRM-v2.
TEST(Shapes, TowerHasMlperfsWork) {
  const Shapes shapes = ReadShapes("tower_dlrm_dcn.txt");
  std::int64_t flops = 0;
  for (std::size_t i = 0; i < shapes.names.size(); ++i) flops += 2 * shapes.first[i] * shapes.second[i];
  EXPECT_EQ(flops, 32'060'928);
}

}  // namespace
}  // namespace hotrow
