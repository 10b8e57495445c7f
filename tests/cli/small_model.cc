#include "tests/cli/small_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

namespace hotrow {

using ::testing::HasSubstr;
using Json = nlohmann::json;

SmallModel::SmallModel() {
  directory_.Write("schema.toml",
                   "[data]\nlabel = \"y\"\n[[data.dense]]\ncolumn = \"x\"\n"
                   "[[data.sparse]]\ncolumn = \"n\"\nencoding = \"integer\"\nrows = 8\n"
                   "[[data.sparse]]\ncolumn = \"u\"\n");
  std::string text = "y,x,n,u\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i % 3 == 0) + "," + std::to_string(i) + "," + std::to_string(i % 8) + ",u" +
            std::to_string(i % 5) + "\n";
  }
  directory_.Write("data.csv", text);
  const ProgramResult trained =
      RunHotrow({"train", "--data", data(), "--schema", schema(), "--batch-size", "8", "--embedding-dim", "4",
                 "--dense-arch", "4", "--over-arch", "4,1", "--dcn-num-layers", "1", "--dcn-low-rank", "2",
                 "--save", model()});
  if (trained.exit_code != 0) throw std::runtime_error("no small model: " + trained.err);
}

std::vector<std::string> SmallModel::Args(const std::string& command,
                                          const std::vector<std::string>& more) const {
  std::vector<std::string> args = {command, "--model", model(), "--data", data()};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::string SmallModel::WithHeader(const std::string& name, const std::function<void(Json&)>& change) const {
  const std::string bytes = FileText(model());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  Json header = Json::parse(bytes.substr(8, length));
  change(header);
  const std::string text = header.dump();
  length = text.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  std::uint64_t old = 0;
  std::memcpy(&old, bytes.data(), sizeof(old));
  return directory_.Write(name, out + text + bytes.substr(8 + old));
}

std::string SmallModel::WithMetadata(const std::string& name, const std::string& key,
                                     const std::function<void(Json&)>& change) const {
  return WithHeader(name, [&](Json& header) {
    Json value = Json::parse(header["__metadata__"][key].get<std::string>());
    change(value);
    header["__metadata__"][key] = value.dump();
  });
}

}  // namespace hotrow
