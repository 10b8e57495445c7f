#include "hotrow/measure/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "hotrow/base/error.h"

namespace hotrow {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(2);

// In the child, between fork and exec: system calls alone.
[[noreturn]] void Exec(char* const* argv, char* const* environment, const char* errors, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // it was gone before the line above
  const int in = open("/dev/null", O_RDONLY);
  const int out = open("/dev/null", O_WRONLY);
  const int err = open(errors, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
  execvpe(argv[0], argv, environment);
  const char* why = strerrordesc_np(errno);
  for (const char* part : {"error: cannot run ", static_cast<const char*>(argv[0]), ": ", why, "\n"}) {
    if (write(2, part, std::strlen(part)) < 0) break;
  }
  _exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::vector<std::string>& more) {
  std::vector<std::string> all = more;  // getenv takes the first of a name
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

// Whether the child has ended, and then how.
bool HasEnded(pid_t child, int* status) {
  const pid_t ended = waitpid(child, status, WNOHANG);
  if (ended < 0 && errno != EINTR) FailErrno(errno, "waitpid");
  return ended == child;
}

// Waits, and stops the child when this process has been told to stop. Returns whether that was so.
bool Await(pid_t child, const std::atomic<bool>& interrupt, int* status) {
  bool interrupted = false;
  Clock::time_point kill_at;
  while (!HasEnded(child, status)) {
    if (!interrupted && interrupt) {
      interrupted = true;
      kill_at = Clock::now() + kGrace;
      kill(-child, SIGTERM);
    } else if (interrupted && Clock::now() >= kill_at) {
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(kPoll);
  }
  if (interrupted) kill(-child, SIGKILL);  // what it has left behind
  return interrupted;
}

}  // namespace

ChildResult RunChild(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                     const std::string& scratch_directory, const std::atomic<bool>& interrupted) {
  const std::string errors = scratch_directory + "/stderr";
  const std::vector<std::string> variables = Environment(environment);
  const std::vector<char*> arguments = Pointers(argv);
  const std::vector<char*> environment_pointers = Pointers(variables);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) FailErrno(errno, "cannot start one more process");
  if (child == 0) Exec(arguments.data(), environment_pointers.data(), errors.c_str(), parent);
  setpgid(child, child);  // here too: an interrupt may come before the child does it
  int status = 0;
  ChildResult result;
  result.interrupted = Await(child, interrupted, &status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.exit_code = result.signal ? 128 + *result.signal : WEXITSTATUS(status);
  std::ifstream file(errors, std::ios::binary);
  result.errors.assign(std::istreambuf_iterator<char>(file), {});
  return result;
}

}  // namespace hotrow
