#include "hotrow/base/error.h"

#include <cerrno>
#include <cstring>

namespace hotrow::internal {
namespace {

// Whether another name, place or permission would have helped.
bool IsUserError(int reason) {
  switch (reason) {
    case EACCES:
    case EEXIST:
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENODEV:
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case EOPNOTSUPP:
    case EPERM:
    case EROFS:
    case ETXTBSY:
      return true;
    default:
      return false;
  }
}

}  // namespace

void ThrowErrno(int reason, const std::string& message) {
  const std::string text = Printable(message + ": " + std::strerror(reason));
  if (reason == EPIPE) throw ClosedPipe(text);
  if (IsUserError(reason)) throw Error(text);
  throw SystemError(text);
}

}  // namespace hotrow::internal
