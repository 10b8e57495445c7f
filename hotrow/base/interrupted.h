#pragma once
// Stopping long work that leaves nothing behind when it stops.

#include <atomic>
#include <exception>

namespace hotrow {

/// Thrown where the user asked to stop: no error, but what was begun is undone on the way out.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Throws Interrupted when the flag is there and set.
inline void ThrowIfInterrupted(const std::atomic<bool>* flag) {
  if (flag != nullptr && flag->load(std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace hotrow
