#include "cli/targets.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <variant>

#include "hotrow/base/error.h"
#include "hotrow/files/new_file.h"

namespace hotrow::cli {
namespace {

namespace fs = std::filesystem;

bool IsAFile(const NamedFile& file) { return !file.path.empty() && file.path != "-"; }

bool IsADevice(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
}

bool SameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;  // links too
  return fs::weakly_canonical(FollowLinks(a), error) == fs::weakly_canonical(FollowLinks(b), error) && !error;
}

void CheckWritable(const NamedFile& output) {
  if (output.path == "-")
    Fail("{} -: is written whole or not at all, so not to stdout; name a file", output.flag);
  const fs::path path(output.path);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) Fail("{} {}: is a directory", output.flag, output.path);
  if (IsADevice(path)) return;
  const fs::path target(FollowLinks(output.path));
  const fs::path parent = target.has_parent_path() ? target.parent_path() : ".";
  if (!fs::is_directory(parent, ignored))
    Fail("{} {}: no directory {}", output.flag, output.path, parent.string());
  if (access(parent.c_str(), W_OK) != 0)
    Fail("{} {}: cannot write in {}", output.flag, output.path, parent.string());
  std::error_code error;
  const fs::file_status status =
      fs::status(target, error);  // a name that is too long would be found at the end
  if (error && status.type() == fs::file_type::none)
    FailErrno(error.value(), "{} {}: cannot write", output.flag, output.path);
}

}  // namespace

void CheckTargets(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  std::vector<NamedFile> others = inputs;
  for (const NamedFile& output : outputs) {
    if (output.path.empty() || (output.path == "-" && output.may_be_stdout)) continue;
    CheckWritable(output);
    if (IsADevice(output.path)) continue;
    for (const NamedFile& other : others) {
      if (!IsAFile(other) || !SameFile(output.path, other.path)) continue;
      Fail("{} {}: is the file of {} too, which it would overwrite", output.flag, output.path, other.flag);
    }
    others.push_back(output);
  }
}

void CheckOutputs(const RunSettings& settings) {
  RunConfig config = settings.config;
  std::vector<NamedFile> outputs;
  std::vector<NamedFile> inputs;
  for (const Setting* setting : SettingsOf(settings.command)) {
    const std::string flag = "--" + std::string(setting->name);
    if (const auto* files = std::get_if<Files>(&setting->at)) {
      for (const std::string& path : files->at(config)) inputs.push_back({flag, path});
    } else if (const auto* file = std::get_if<File>(&setting->at)) {
      std::string path = file->at(config);
      if (file->is_directory && !path.empty()) path += "/trace.json";
      (file->writes ? outputs : inputs).push_back({flag, path, file->or_stdout});
    }
  }
  CheckTargets(outputs, inputs);
}

}  // namespace hotrow::cli
