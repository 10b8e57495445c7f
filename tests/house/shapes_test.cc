// The text files of bench/shapes say what the library's presets say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hotrow/data/presets.h"
#include "hotrow/model/dlrm.h"

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

// The layers of the tower that a default model has over the preset's tables, in its order.
TEST(Shapes, TowerIsTheDefaultModels) {
  ModelConfig model;
  model.features = NumberedNames("f", 26);
  model.tables = {{.name = "t", .num_embeddings = 1, .embedding_dim = 128, .feature_names = model.features}};
  const DlrmTower tower(model);
  std::vector<std::int64_t> in;
  std::vector<std::int32_t> out;
  for (const Parameter& p : tower.parameters().list()) {
    if (p.vector) continue;
    in.push_back(p.rows);
    out.push_back(static_cast<std::int32_t>(p.columns));
  }
  const Shapes shapes = ReadShapes("tower_dlrm_dcn.txt");
  EXPECT_EQ(shapes.first, in);
  EXPECT_EQ(shapes.second, out);
}

}  // namespace
}  // namespace hotrow
