#include "cli/source_commit.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace hotrow::cli {
namespace {

struct Answer {
  bool ok = false;
  std::string text;
};

Answer AskGit(const std::string& directory, const std::string& arguments) {
  const std::string command = "git -C " + ShellWord(directory) + " " + arguments + " 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Answer answer;
  char buffer[4096];
  for (std::size_t size = 0; (size = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    answer.text.append(buffer, size);
  }
  answer.ok = pclose(pipe) == 0;
  while (!answer.text.empty() && answer.text.back() == '\n') answer.text.pop_back();
  return answer;
}

}  // namespace

std::string OwnPath() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=,.:/+%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

SourceCommit FindSourceCommit() {
  const Answer root = AskGit(std::filesystem::path(OwnPath()).parent_path(), "rev-parse --show-toplevel");
  const Answer hash = root.ok ? AskGit(root.text, "rev-parse --short=12 HEAD") : Answer{};
  if (!hash.ok) return {};
  const Answer changes = AskGit(root.text, "status --porcelain --untracked-files=no -- . ':!docs'");
  return {hash.text, !changes.text.empty()};
}

}  // namespace hotrow::cli
