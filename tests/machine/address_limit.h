#pragma once
// A limit of address space for a while, as `ulimit -v` sets one.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace hotrow {

/// As long as it lives, this process can take at most `more` bytes of address space than it has.
class AddressLimit {
 public:
  explicit AddressLimit(std::int64_t more) {
    std::int64_t pages = 0;  // in use: of a sanitizer, terabytes
    if (getrlimit(RLIMIT_AS, &before_) != 0 || !(std::ifstream("/proc/self/statm") >> pages)) return;
    struct rlimit limited = before_;
    limited.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + more);
    set_ = limited.rlim_cur <= before_.rlim_max && setrlimit(RLIMIT_AS, &limited) == 0;
  }
  ~AddressLimit() {
    if (set_) setrlimit(RLIMIT_AS, &before_);
  }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;

  /// Whether there is one; not where a lower one was there before.
  bool set() const { return set_; }

 private:
  struct rlimit before_ {};
  bool set_ = false;
};

}  // namespace hotrow
