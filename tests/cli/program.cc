#include "tests/cli/program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace hotrow {
namespace {

[[noreturn]] void Exec(std::string program, const std::vector<std::string>& args,
                       const std::string& directory, const std::string& out, const std::string& err) {
  std::vector<char*> argv;
  argv.push_back(program.data());
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const int out_fd = open(out.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  const int err_fd = open(err.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  for (const int sent : {SIGINT, SIGHUP}) signal(sent, SIG_DFL);  // the tests' own launcher may ignore them
  if (chdir(directory.c_str()) == 0 && dup2(out_fd, 1) >= 0 && dup2(err_fd, 2) >= 0)
    execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

namespace {

// An empty directory is a fresh one, an empty `standard_out` is caught; `while_running` may be empty.
ProgramResult Run(const std::string& program, const std::vector<std::string>& args,
                  const std::string& directory, const std::string& standard_out,
                  const std::function<void(pid_t)>& while_running) {
  const TemporaryDirectory own;
  const TemporaryDirectory streams;
  const std::string out = streams.File("out");
  const std::string err = streams.File("err");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    Exec(program, args, directory.empty() ? own.path() : directory, standard_out.empty() ? out : standard_out,
         err);
  }
  if (while_running) while_running(child);
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("waitpid failed");
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = FileText(out);
  result.err = FileText(err);
  return result;
}

}  // namespace

ProgramResult RunHotrow(const std::vector<std::string>& args, const std::string& directory) {
  return Run(HOTROW_TEST_BINARY, args, directory, "", {});
}

ProgramResult RunProgram(const std::string& program, const std::vector<std::string>& args) {
  return Run(program, args, "", "", {});
}

ProgramResult RunHotrowInto(const std::string& standard_out, const std::vector<std::string>& args) {
  return Run(HOTROW_TEST_BINARY, args, "", standard_out, {});
}

namespace {

// Whether a process has a file of the directory open that it cannot read.
bool WritesIn(pid_t process, const std::string& directory) {
  namespace fs = std::filesystem;
  const std::string of_process = "/proc/" + std::to_string(process);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(of_process + "/fd", error)) {
    const std::string file = fs::read_symlink(entry.path(), error).string();
    if (error || !file.starts_with(directory + "/")) continue;
    std::string key;
    std::string value;
    std::ifstream info(of_process + "/fdinfo/" + entry.path().filename().string());
    while (info >> key >> value) {
      if (key == "flags:" && (std::stoi(value, nullptr, 8) & O_ACCMODE) == O_WRONLY) return true;
    }
  }
  return false;
}

}  // namespace

ProgramResult RunAndSignal(const std::vector<std::string>& args, const std::string& directory,
                           const std::vector<int>& signals) {
  return Run(HOTROW_TEST_BINARY, args, "", "", [&](pid_t child) {
    constexpr int kMostWaits = 3000;  // half a minute: a machine may be busy
    for (int waits = 0; waits < kMostWaits && !WritesIn(child, directory); ++waits) usleep(10'000);
    for (const int signal : signals) kill(child, signal);
  });
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/hotrow_test.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::Write(const std::string& name, const std::string& text) const {
  std::ofstream(File(name), std::ios::binary) << text;
  return File(name);
}

std::vector<std::string> TemporaryDirectory::List() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

void ExpectError(const std::vector<std::string>& args, const std::vector<std::string>& parts, int exit_code) {
  const ProgramResult result = RunHotrow(args);
  const std::string command = ::testing::PrintToString(args);
  EXPECT_EQ(result.exit_code, exit_code) << command << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << command << result.err;
  EXPECT_THAT(result.err, ::testing::StartsWith("error: ")) << command;
  for (const std::string& part : parts) EXPECT_THAT(result.err, ::testing::HasSubstr(part)) << command;
  EXPECT_EQ(result.out, "") << command;
}

}  // namespace

void ExpectMistake(const std::vector<std::string>& args, const std::vector<std::string>& parts) {
  ExpectError(args, parts, 2);
}
void ExpectFailure(const std::vector<std::string>& args, const std::vector<std::string>& parts) {
  ExpectError(args, parts, 1);
}

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace hotrow
