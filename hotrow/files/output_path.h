#pragma once
// Where a file that is written beside its name and renamed must go.

#include <cstdint>
#include <string>

namespace hotrow {

/// The path with symbolic links at its end followed, whether or not the last one's target exists: a rename to
/// it changes what the link points to and leaves the link. Throws Error for links in a circle.
std::string FollowLinks(const std::string& path);

/// Throws SystemError naming the path, the bytes needed and those free when the file system it lies on has
/// less room than a new file of so many bytes needs. What is at the path now stays until the rename, and so
/// gives no room. Says nothing where the file system does not tell.
void NeedRoom(const std::string& path, std::int64_t bytes);

}  // namespace hotrow
