#pragma once
// What a command will write, checked before its work rather than after it.

#include <string>
#include <vector>

#include "hotrow/run/run_settings.h"

namespace hotrow::cli {

/// A file that a flag names. An empty path is a flag that was not given; "-" is stdout, of outputs that may
/// be.
struct NamedFile {
  std::string flag;
  std::string path;
  bool may_be_stdout = false;  ///< an output's "-"
};

/// Throws Error naming the flag when an output is "-" and may not be stdout, or is a directory, its directory
/// does not exist or cannot be written in, or it is the same file as one of the inputs or another output.
/// Devices may be written to and shared.
void CheckTargets(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

/// CheckTargets for all files that the settings name. By the process that will write them: a directory may be
/// on its host alone.
void CheckOutputs(const RunSettings& settings);

}  // namespace hotrow::cli
