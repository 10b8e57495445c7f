#include "hotrow/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace hotrow {
namespace {

using ::testing::ThrowsMessage;

TEST(FailErrno, ThrowsWhatTheReasonSays) {
  for (const int reason : {ENOENT, EACCES, ENOTDIR, EISDIR, ENAMETOOLONG, EROFS, ELOOP}) {
    EXPECT_THROW(FailErrno(reason, "x"), Error) << reason;
  }
  for (const int reason : {ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, EAGAIN, ENOMEM, EBADF}) {
    EXPECT_THROW(FailErrno(reason, "x"), SystemError) << reason;
  }
  EXPECT_THROW(FailErrno(EPIPE, "x"), ClosedPipe);
}

TEST(FailErrno, NamesTheThingAndTheReason) {
  EXPECT_THAT([] { FailErrno(ENOENT, "{}: cannot open", "a\nb"); },
              ThrowsMessage<Error>("a\\nb: cannot open: No such file or directory"));
  EXPECT_THAT([] { FailErrno(ENOSPC, "{}: cannot write", "f"); },
              ThrowsMessage<SystemError>("f: cannot write: No space left on device"));
}

// Whoever adds a table's name to an Error has nothing to add to these.
TEST(SystemError, IsNoError) {
  EXPECT_THAT([] { FailSystem("{} failed", "it"); }, ThrowsMessage<SystemError>("it failed"));
  EXPECT_FALSE((std::is_base_of_v<Error, SystemError>));
  EXPECT_FALSE((std::is_base_of_v<SystemError, Error>));
}

}  // namespace
}  // namespace hotrow
