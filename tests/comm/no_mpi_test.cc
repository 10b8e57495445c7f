// The stand-in for MPI, linked before the library and so in place of the real one, whatever this build has
// found.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hotrow/base/error.h"
#include "hotrow/comm/mpi_session.h"

namespace hotrow {
namespace {

TEST(NoMpi, SaysWhatToDo) {
  EXPECT_FALSE(MpiAvailable());
  try {
    const MpiSession session;
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("-DHOTROW_WITH_MPI=ON"));
  }
}

}  // namespace
}  // namespace hotrow
