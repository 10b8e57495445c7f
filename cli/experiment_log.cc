#include "cli/experiment_log.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "hotrow/base/error.h"
#include "hotrow/base/text_writer.h"

namespace hotrow::cli {
namespace {

std::string ReadLog(const std::string& path) {
  if (!std::filesystem::exists(path)) return "# Experiment log\n";
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) Fail("--log {}: cannot be read", path);
  return text;
}

}  // namespace

void AddToLog(const std::string& path, const std::string& section) {
  std::string text = ReadLog(path);
  static const std::regex kDated("(^|\n)## [0-9]{4}-[0-9]{2}-[0-9]{2}");
  std::smatch newest;
  if (std::regex_search(text, newest, kDated)) {
    const auto heading = static_cast<std::size_t>(newest.position(0) + newest.length(1));
    text.insert(heading, section + "\n");
  } else {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text += "\n\n" + section;
  }
  TextWriter file(path);
  file.Print("{}", text);
  file.Finish();
}

}  // namespace hotrow::cli
