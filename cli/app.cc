#include "cli/app.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "cli/cli11.h"
#include "cli/targets.h"
#include "hotrow/base/error.h"
#include "hotrow/base/interrupted.h"
#include "hotrow/base/printable.h"
#include "hotrow/base/size.h"
#include "hotrow/files/text_writer.h"
#include "hotrow/machine/cores.h"
#include "hotrow/machine/system.h"

namespace hotrow::cli {

std::atomic<bool> g_interrupted{false};

namespace {

// One write; where stderr takes nothing there is nobody left to tell.
void Say(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

[[noreturn]] void FailPrint(std::FILE* stream) {
  FailErrno(errno, "cannot write to {}", stream == stdout ? "stdout" : "stderr");
}

}  // namespace

void OccupyStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest number that is free, this one. The other way round than the stream is used: what needs it
    // fails as it would have.
    if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void Print(const std::string& text, std::FILE* stream) {
  if (std::fputs(text.c_str(), stream) < 0) FailPrint(stream);
}

void Flush(std::FILE* stream) {
  if (std::fflush(stream) != 0) FailPrint(stream);
}

void PrintResult(const CommonFlags& flags, const std::string& text) {
  if (flags.quiet) return;
  std::FILE* out = flags.json == "-" ? stderr : stdout;
  Print(text + "\n", out);
  Flush(out);
}

void PrintProgress(const CommonFlags& flags, const std::string& text) {
  if (!flags.quiet) Say(text);
}

NamedFile JsonTarget(const CommonFlags& flags) { return {"--json", flags.json, true}; }

void WriteJson(const CommonFlags& flags, const nlohmann::ordered_json& json) {
  if (flags.json.empty()) return;
  const std::string text = json.dump(1) + "\n";
  if (flags.json == "-") {
    Print(text);
    Flush();
    return;
  }
  TextWriter file(flags.json);
  file.Print("{}", text);
  file.Finish();
}

namespace {

int Failed(const std::string& message, ExitCode code) {
  Say("error: " + Printable(message));
  return code;
}

// Where nobody nearer knew how much was asked for.
std::string OutOfMemory() {
  return fmt::format("out of memory; {:.2f} GiB are available", GiB(AvailableMemory()));
}

}  // namespace

int ReportFailure(std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Interrupted& e) {
    Say(e.what());
    return kInterrupted;
  } catch (const ClosedPipe&) {
    return kClosedPipe;
  } catch (const Error& e) {
    return Failed(e.what(), kUserError);
  } catch (const CLI::ParseError& e) {
    return Failed(e.what(), kUserError);
  } catch (const std::bad_alloc&) {
    return Failed(OutOfMemory(), kUserError);
  } catch (const std::length_error&) {  // a container asked for more than addresses can name
    return Failed(OutOfMemory(), kUserError);
  } catch (const std::exception& e) {
    return Failed(e.what(), kFailed);
  }
}

namespace {

std::atomic<bool> g_signalled{false};

extern "C" void OnInterrupt(int signal) {
  g_signalled = true;
  if (g_interrupted.exchange(true)) _exit(128 + signal);
}

// A terminal that goes away says so more than once, the system and the shell each: that is no second wish.
extern "C" void OnHangup(int /*signal*/) {
  if (!g_signalled.exchange(true)) g_interrupted = true;
}

}  // namespace

void InstallInterruptHandler() {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  if (std::signal(SIGHUP, SIG_IGN) != SIG_IGN) std::signal(SIGHUP, OnHangup);  // ignored: nohup's wish
}

}  // namespace hotrow::cli
