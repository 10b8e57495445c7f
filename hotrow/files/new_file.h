#pragma once
// A file that is there whole or not at all.

#include <cstddef>
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

/// How a NewFile is kept until it is whole.
enum class UnfinishedFile {
  /// Without a name (Linux's O_TMPFILE), so that whatever ends the process, nothing remains; under a name
  /// where the file system has no such files.
  kUnnamed,
  kNamed,  ///< beside the final name: a process that is killed leaves it
};

/// Is written out of sight and gets its name in Finish, after fsync: a reader never sees half a file, and
/// without Finish what is at the name stays. What exists and is no file, a device or a pipe, is written to as
/// it is: a rename would replace it. A symbolic link stays, and what it points to is written. Unbuffered.
class NewFile {
 public:
  /// Throws Error when the file cannot be made there, or is a directory.
  explicit NewFile(const std::string& path, UnfinishedFile unfinished = UnfinishedFile::kUnnamed);
  ~NewFile() { Abandon(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Throws SystemError when the disk is full or the file may not grow, ClosedPipe when it is a pipe that
  /// nobody reads.
  void Write(const char* data, std::size_t bytes);
  /// Nothing may be written after it. Throws SystemError when the disk is full, Error when the name cannot be
  /// given.
  void Finish();
  /// Gives the file up; also what the destructor does. Nothing may be written after it.
  void Abandon();

  /// With links followed.
  const std::string& path() const { return path_; }

 private:
  std::string Beside() const;
  void GiveName();
  [[noreturn]] void FailWrite() const;

  std::string path_;
  std::string temporary_;  // empty: has no name yet, or is written in place
  bool in_place_ = false;
  int fd_ = -1;
};

}  // namespace hotrow
