#include "cli/experiment_log.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "hotrow/base/error.h"
#include "hotrow/files/text_writer.h"

namespace hotrow::cli {
namespace {

std::string ReadLog(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "# Experiment log\n";
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) Fail("--log {}: cannot be read", path);
  return text;
}

// Whether a heading "## YYYY-MM-DD" begins here.
bool IsDatedHeading(std::string_view text) {
  constexpr std::string_view kForm = "## dddd-dd-dd";
  if (text.size() < kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
    if (!fits) return false;
  }
  return true;
}

// Where the newest section begins; npos: there is none.
std::size_t FindNewest(std::string_view text) {
  for (std::size_t line = 0; line < text.size();) {
    if (IsDatedHeading(text.substr(line))) return line;
    const std::size_t end = text.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::string_view::npos;
}

}  // namespace

void AddToLog(const std::string& path, const std::string& section) {
  std::string text = ReadLog(path);
  const std::size_t newest = FindNewest(text);
  if (newest != std::string_view::npos) {
    text.insert(newest, section + "\n");
  } else {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text += "\n\n" + section;
  }
  TextWriter file(path);
  file.Print("{}", text);
  file.Finish();
}

}  // namespace hotrow::cli
