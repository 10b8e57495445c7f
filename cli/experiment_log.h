#pragma once
// The log of experiments: a Markdown file of dated sections, newest first.

#include <string>

namespace hotrow::cli {

/// Puts `section` before the first heading "## YYYY-MM-DD…" of the file, at its end where there is none;
/// makes a file that is not there. The new file is written beside the old one and renamed. Throws Error when
/// it cannot.
void AddToLog(const std::string& path, const std::string& section);

}  // namespace hotrow::cli
