#pragma once
// Lists of files as they are typed.

#include <string>
#include <vector>

namespace hotrow {

/// The paths that a flag or key names. A value that is the name of something that exists is that path,
/// whatever commas it has; any other is cut at its commas. {"day_0,day_1", "a,b.csv"}: day_0, day_1 and,
/// where there is such a file, a,b.csv. Whoever lists a name with a comma beside others gives it as a value
/// of its own. Throws Error, beginning with `flag`, for an empty name.
std::vector<std::string> SplitPaths(const std::string& flag, const std::vector<std::string>& values);

}  // namespace hotrow
