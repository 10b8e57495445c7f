#include "hotrow/measure/circumstances.h"

#include <fmt/core.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>

#include "hotrow/machine/cores.h"
#include "hotrow/machine/system.h"
#include "hotrow/measure/experiment.h"

namespace hotrow {
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

SourceCommit FindSourceCommit() {
  const Answer root = AskGit(std::filesystem::path(OwnPath()).parent_path(), "rev-parse --show-toplevel");
  const Answer hash = root.ok ? AskGit(root.text, "rev-parse --short=12 HEAD") : Answer{};
  if (!hash.ok) return {};
  const Answer changes = AskGit(root.text, "status --porcelain --untracked-files=no -- . ':!docs'");
  return {hash.text, !changes.text.empty()};
}

Circumstances FindCircumstances(const std::string& path, std::int64_t rounds) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return {.date = fmt::format("{:04}-{:02}-{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday),
          .command = "hotrow experiment " + ShellWord(path) +
                     (rounds > 0 ? fmt::format(" --rounds {}", rounds) : ""),
          .commit = FindSourceCommit(),
          .cpu = CpuName(),
          .cores = AvailableCores(),
          .memory_bytes = TotalMemory()};
}

}  // namespace hotrow
