#pragma once
// Where a file that is written beside its name and renamed must go.

#include <string>

namespace hotrow {

/// The path with symbolic links at its end followed, whether or not the last one's target exists: a rename to
/// it changes what the link points to and leaves the link. Throws Error for links in a circle.
std::string FollowLinks(const std::string& path);

}  // namespace hotrow
