#pragma once
// A small trained model and its data, for tests of what reads them.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace hotrow {

/// In `directory`: schema.toml, data.csv (40 records of label y, number x, integer n below 8, text u) and
/// model.safetensors, trained on them.
class SmallModel {
 public:
  SmallModel();
  const TemporaryDirectory& directory() const { return directory_; }
  std::string model() const { return directory_.File("model.safetensors"); }
  std::string data() const { return directory_.File("data.csv"); }
  std::string schema() const { return directory_.File("schema.toml"); }
  /// A command's flags --model and --data, and more.
  std::vector<std::string> Args(const std::string& command, const std::vector<std::string>& more = {}) const;
  /// Another file of the same tensors, its header changed. Returns its path.
  std::string WithHeader(const std::string& name, const std::function<void(nlohmann::json&)>& change) const;
  /// Another file, a JSON text of its metadata changed.
  std::string WithMetadata(const std::string& name, const std::string& key,
                           const std::function<void(nlohmann::json&)>& change) const;

 private:
  TemporaryDirectory directory_;
};

}  // namespace hotrow
