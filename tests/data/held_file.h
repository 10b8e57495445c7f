#pragma once
// A file that the code under test comes to, with something done just before.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace hotrow {

/// Holds a lease on a file that nobody has open: the next open of it, by any thread or process, waits until
/// `meanwhile` has been run. Where the file system has no leases, held() is false and nothing happens.
class HeldFile {
 public:
  HeldFile(const std::string& path, std::function<void()> meanwhile)
      : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)), meanwhile_(std::move(meanwhile)) {
    // The signal of a lease that is asked back, by default one that kills.
    held_ = fcntl(fd_, F_SETSIG, SIGURG) == 0 && fcntl(fd_, F_SETLEASE, F_WRLCK) == 0;
    if (held_) waiter_ = std::thread([this] { Wait(); });
  }
  ~HeldFile() {
    stop_ = true;
    if (waiter_.joinable()) waiter_.join();
    close(fd_);
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  bool held() const { return held_; }

 private:
  void Wait() {
    while (!stop_ && fcntl(fd_, F_GETLEASE) == F_WRLCK) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!stop_) meanwhile_();
    fcntl(fd_, F_SETLEASE, F_UNLCK);
  }

  int fd_;
  std::function<void()> meanwhile_;
  std::atomic<bool> stop_ = false;
  bool held_ = false;
  std::thread waiter_;
};

}  // namespace hotrow
